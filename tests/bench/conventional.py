"""Polls zones with a pool of threads, each with an httpx client, and serves gauges: `PORT PLATFORM FIRST_ZONE ZONES`.

Most exporters in Python are written like this. It has the exporter's gauges that need no memory of earlier polls. It
imports nothing of the project, because that would count as its memory.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from prometheus_client import CollectorRegistry, Gauge, start_http_server

WORKERS = 8
REGISTRY = CollectorRegistry()
WINDOW = Gauge("edge_dns_window_queries", "Queries of 30 days.", ["zone_id"], registry=REGISTRY)
RECORDS = Gauge("edge_dns_window_record_queries", "By type.", ["zone_id", "record_type"], registry=REGISTRY)
ROUTED = Gauge("edge_dns_window_routed_queries", "By routing.", ["zone_id", "routing"], registry=REGISTRY)
DAY = Gauge("edge_dns_day_queries", "Queries of the latest day.", ["zone_id"], registry=REGISTRY)
DAY_ROUTED = Gauge("edge_dns_day_routed_queries", "By routing.", ["zone_id", "routing"], registry=REGISTRY)
UP = Gauge("edge_target_up", "Whether the latest poll succeeded.", ["zone_id"], registry=REGISTRY)
SUCCESS = Gauge("edge_target_last_success_timestamp_seconds", "Its time.", ["zone_id"], registry=REGISTRY)


def show(zone: str, answer: dict[str, Any]) -> None:
    """Set the gauges of a zone."""
    WINDOW.labels(zone).set(answer["TotalQueriesServed"])
    for record, queries in answer["QueriesByTypeChart"].items():
        RECORDS.labels(zone, record).set(queries)
    day = max(answer["QueriesServedChart"])
    DAY.labels(zone).set(answer["QueriesServedChart"][day])
    for routing in ("Normal", "Smart"):
        chart = answer[f"{routing}QueriesServedChart"]
        ROUTED.labels(zone, routing).set(sum(chart.values()))
        DAY_ROUTED.labels(zone, routing).set(chart[day])
    SUCCESS.labels(zone).set_to_current_time()


def poll(platform: str, zones: range) -> None:
    """Poll zones one after another, without end."""
    with httpx.Client(base_url=platform, headers={"AccessKey": "key"}) as client:
        while True:
            for zone in zones:
                try:
                    show(str(zone), client.get(f"/dnszone/{zone}/statistics").raise_for_status().json())
                    UP.labels(zone).set(1)
                except httpx.HTTPError:
                    UP.labels(zone).set(0)


if __name__ == "__main__":
    start_http_server(int(sys.argv[1]), "127.0.0.1", REGISTRY)
    first, count = map(int, sys.argv[3:])
    every = range(first, first + count)
    with ThreadPoolExecutor(WORKERS) as pool:
        for worker in range(WORKERS):
            pool.submit(poll, sys.argv[2], every[worker::WORKERS])
