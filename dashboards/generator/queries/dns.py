"""Defines queries for DNS traffic by zone, record type and routing, and for scans of records."""

from dashboards.generator.intervals import DAY, HISTORY
from dashboards.generator.page import Query
from dashboards.generator.promql import (
    ACCOUNT,
    AT_END,
    ZONE,
    age,
    among,
    gauge,
    highest,
    increase,
    milliseconds,
    rate,
    top,
    total,
)

SCOPE = (ACCOUNT, ZONE)
ONE_ZONE = ("account", "zone_id")
NAMED_ZONE = ("account", "zone_id", "domain")
TABLE_ROWS = 100

_DAY = gauge("edge_dns_day_queries", *SCOPE)
_WINDOW = gauge("edge_dns_window_queries", *SCOPE)
# The window has 31 or 32 buckets including today; without today it has about 30 closed days.
_USUAL = f"({_WINDOW} - {_DAY}) / 30"
_USUAL_OF_ALL = f"(sum({_WINDOW}) - sum({_DAY})) / 30"
# Days are in UTC. In the first hour of a day its fraction is too small to divide by.
_DAY_FRACTION = "scalar(clamp_min(vector((time() % 86400) / 86400), 1 / 24))"


def _closed_days(increase_over: str) -> str:
    """Return the total of each closed day: the last value of the day's gauge, or else the backfilled counter."""
    counted = total(increase("edge_dns_queries_total", *SCOPE, over=increase_over))
    return f"(max_over_time(sum({_DAY})[1d:1h]) or {counted})"


# The band reads one sample an hour, because all samples of 30 days would be slow.
_DAYS_OF_BAND = _closed_days("1d:1h")
# Ratios of very little traffic say nothing.
_BUSY = f"({_USUAL} > 100)"
# Traffic depends on the hour, so the day so far is compared with the same time yesterday and a week ago. If Prometheus
# has neither, it is compared with the usual day in proportion to the elapsed time.
_YESTERDAY = gauge("edge_dns_day_queries", *SCOPE, at=" offset 1d")
_LAST_WEEK = gauge("edge_dns_day_queries", *SCOPE, at=" offset 1w")
_BY_NOW = f"(({_YESTERDAY} + {_LAST_WEEK}) / 2 or {_LAST_WEEK} or {_YESTERDAY} or {_USUAL} * {_DAY_FRACTION})"
_BY_NOW_OF_ALL = (
    f"(sum({_YESTERDAY}) + sum({_LAST_WEEK})) / 2 or sum({_LAST_WEEK}) or sum({_YESTERDAY})"
    f" or {_USUAL_OF_ALL} * {_DAY_FRACTION}"
)
_AGAINST_USUAL = f"({_DAY} / ({_BY_NOW} > 0) and {_BUSY})"

_BUSIEST = top(gauge("edge_dns_day_queries", *SCOPE, at=AT_END))
_SHOWN = top(_DAY, TABLE_ROWS)

RATE = Query(total(rate("edge_dns_queries_total", *SCOPE)), "queries")
RATE_YESTERDAY = Query(
    total(rate("edge_dns_queries_total", *SCOPE, at=" offset 1d")),
    "a day before",
    step=HISTORY,
    quiet="Prometheus has held the counters for a day",
)
RATE_LAST_WEEK = Query(
    total(rate("edge_dns_queries_total", *SCOPE, at=" offset 1w")),
    "a week before",
    step=HISTORY,
    quiet="Prometheus has held the counters for a week",
)
RATE_BY_ACCOUNT = Query(top(total(rate("edge_dns_queries_total", ACCOUNT), "account"), 20), "{{account}}")
RATE_OF_TOP_ZONES = Query(
    among(total(rate("edge_dns_queries_total", *SCOPE), *NAMED_ZONE), _BUSIEST, *ONE_ZONE), "{{domain}} ({{zone_id}})"
)
RATE_BY_ROUTING = Query(total(rate("edge_dns_routed_queries_total", *SCOPE), "routing"), "{{routing}}")

OLD_CHARTS = Query(total(f"{age('edge_dns_day_start_timestamp_seconds', *SCOPE)} > bool 2 * 86400"), "zones")
TODAY = Query(total(_DAY), "today so far")
WINDOW = Query(total(_WINDOW), "30 days")
USUAL_BY_NOW = Query(_BY_NOW_OF_ALL, "usual by this time")
# If Prometheus has no closed day yet, the band is the mean of the platform's window.
LOWEST_DAY = Query(f"min_over_time({_DAYS_OF_BAND}[30d:1d]) or {_USUAL_OF_ALL}", "lowest of 30 days")
HIGHEST_DAY = Query(f"max_over_time({_DAYS_OF_BAND}[30d:1d]) or {_USUAL_OF_ALL}", "highest of 30 days")
MEAN_DAY = Query(_USUAL_OF_ALL, "mean of 30 days")
CLOSED_DAYS = Query(_closed_days("1d"), "queries", step=DAY)

RECORD_TYPES = Query(top(total(gauge("edge_dns_window_record_queries", *SCOPE), "record_type"), 15), "{{record_type}}")
ROUTING_TODAY = Query(total(gauge("edge_dns_day_routed_queries", *SCOPE), "routing"), "{{routing}}")
ROUTING_WINDOW = Query(total(gauge("edge_dns_window_routed_queries", *SCOPE), "routing"), "{{routing}}")

ZONE_TODAY = Query(highest(_SHOWN, *NAMED_ZONE))
ZONE_USUAL = Query(highest(among(_USUAL, _SHOWN, *ONE_ZONE), *NAMED_ZONE))
ZONE_AGAINST_USUAL = Query(highest(among(_AGAINST_USUAL, _SHOWN, *ONE_ZONE), *NAMED_ZONE))
ZONE_WINDOW = Query(highest(among(_WINDOW, _SHOWN, *ONE_ZONE), *NAMED_ZONE))
ZONE_RATE = Query(among(total(rate("edge_dns_queries_total", *SCOPE), *NAMED_ZONE), _SHOWN, *ONE_ZONE))
# The factor to the usual, up or down: 3 for three times of it and for a third. A silent zone ranks first.
_DISTANCE = top(f"clamp_max(exp(abs(ln({_AGAINST_USUAL}))), 1000)")
UNUSUAL_DISTANCE = Query(highest(_DISTANCE, *NAMED_ZONE))
UNUSUAL_ZONES = Query(highest(among(_AGAINST_USUAL, _DISTANCE, *ONE_ZONE), *NAMED_ZONE))

_STATUS = gauge("edge_dns_record_scan_status", *SCOPE)
_FOUND = gauge("edge_dns_record_scan_found", *SCOPE)
_CREATED = gauge("edge_dns_record_scan_created_timestamp_seconds", *SCOPE)
_COMPLETED = gauge("edge_dns_record_scan_completed_timestamp_seconds", *SCOPE)
_FAILED = gauge("edge_dns_record_scan_status", *SCOPE, 'status="failed"')
_OPEN = gauge("edge_dns_record_scan_status", *SCOPE, 'status=~"pending|in_progress"')
_SINCE_CREATED = age("edge_dns_record_scan_created_timestamp_seconds", *SCOPE)
_OPEN_FOR = f"({_SINCE_CREATED} and on (account, zone_id) ({_OPEN} == 1))"
_FAILED_FOR = f"({_SINCE_CREATED} and on (account, zone_id) ({_FAILED} == 1))"
_TROUBLED_FOR = top(f"({_FAILED_FOR} or {_OPEN_FOR} > 3600)", TABLE_ROWS)
_DURATION = f"({_COMPLETED} - {_CREATED})"
_NEWEST = top(_CREATED, TABLE_ROWS)

SCANS_FAILED = Query(total(_FAILED), "failed")
RECORDS_OVER_TIME = Query(total(gauge("edge_dns_record_scan_records", *SCOPE), "record_type"), "{{record_type}}")

TROUBLED_SCANS = Query(
    highest(among(f"{_STATUS} == 1", _TROUBLED_FOR, *ONE_ZONE), *NAMED_ZONE, "status"),
    quiet="a scan ends as Failed, or stays open for an hour",
)
TROUBLED_SINCE = Query(highest(_TROUBLED_FOR, *NAMED_ZONE), quiet="a scan ends as Failed, or stays open for an hour")
UNSCANNED_ZONES = Query(
    highest(top(f"({_FOUND} == 0)", TABLE_ROWS), *NAMED_ZONE), quiet="a zone is listed that was never scanned"
)
SCAN_STATE = Query(highest(among(f"{_STATUS} == 1", _NEWEST, *ONE_ZONE), *NAMED_ZONE, "status"))
SCAN_CREATED = Query(milliseconds(highest(_NEWEST, *NAMED_ZONE)))
SCAN_DURATION = Query(highest(among(_DURATION, _NEWEST, *ONE_ZONE), *NAMED_ZONE))
SCAN_RECORDS = Query(among(total(gauge("edge_dns_record_scan_records", *SCOPE), *NAMED_ZONE), _NEWEST, *ONE_ZONE))
SCAN_PROXIED = Query(
    highest(among(gauge("edge_dns_record_scan_proxied_records", *SCOPE), _NEWEST, *ONE_ZONE), *NAMED_ZONE)
)
SCAN_JOB = Query(highest(among(gauge("edge_dns_record_scan_info", *SCOPE), _NEWEST, *ONE_ZONE), *NAMED_ZONE, "job_id"))
