"""Measures scrapes: alone, while every target is polled, and by many clients at once."""

from tests.bench import load
from tests.bench.child import Child
from tests.bench.peers import EXPORTER, NGINX, all_serving, control, exporter
from tests.bench.plan import Plan
from tests.bench.report import Report, Table, growth, ratio

ENCODINGS = ("gzip", "identity")
PAUSE = 0.02


def measure(plan: Plan, report: Report) -> None:
    """Scrape every server at every size, in turn."""
    columns = ("series", "encoding", "server", "bytes", "median ms", "p99 ms", "times nginx", "exporter is faster by")
    table = Table("Scrape", columns)
    crowds = Table(
        "Eight scrapers at once (wrk)",
        ("series", "encoding", "server", "p50 ms", "p99 ms", "scrapes/s", "times nginx's p50", "exporter is faster by"),
    )
    memory = Table("Resident memory", ("series", "server", "MiB"))
    medians: dict[tuple[str, str], list[float]] = {}
    for size in plan.sizes:
        with all_serving(size) as servers:
            for encoding in ENCODINGS:
                for name, median in _scrape(plan, size, encoding, servers, table).items():
                    medians.setdefault((encoding, name), []).append(median)
                if size <= plan.most_for_crowds:
                    _crowds(plan, size, encoding, servers, crowds)
            for name, child in servers.items():
                memory.add(size, name, child.rss())
    report.add(table)
    report.add(crowds)
    report.add(memory)
    if len(plan.sizes) > 1:
        growing = Table(
            "Growth of the median scrape: the power of the number of series", ("encoding", "server", "power")
        )
        for (encoding, name), values in medians.items():
            growing.add(encoding, name, growth(plan.sizes, values))
        report.add(growing)


def _scrape(plan: Plan, size: int, encoding: str, servers: dict[str, Child], table: Table) -> dict[str, float]:
    urls = {name: child.url for name, child in servers.items()}
    bodies = {name: len(load.Scraper(url, encoding).scrape()[1]) for name, url in urls.items()}
    latencies = load.interleaved(urls, encoding, plan.seconds)
    nginx = latencies.get(NGINX)
    for name, seen in latencies.items():
        times = ratio(seen.median, nginx.median) if nginx is not None else None
        faster = ratio(seen.median, latencies[EXPORTER].median)
        table.add(size, encoding, name, bodies[name], seen.median, seen.p99, times, faster)
    return {name: seen.median for name, seen in latencies.items()}


def _crowds(plan: Plan, size: int, encoding: str, servers: dict[str, Child], table: Table) -> None:
    seen = {name: load.crowd(child.url, encoding, plan.crowd_seconds) for name, child in servers.items()}
    subject, nginx = seen[EXPORTER], seen.get(NGINX)
    for name, crowd in seen.items():
        if crowd is None or subject is None:
            table.add(size, encoding, name, None, None, 0.0, None, None)
            continue
        times = ratio(crowd.median, nginx.median) if nginx is not None else None
        table.add(size, encoding, name, crowd.median, crowd.p99, crowd.rate, times, ratio(crowd.median, subject.median))


def measure_repoll(plan: Plan, report: Report) -> None:
    """Scrape the exporter while every target is polled again, and an idle nginx for comparison."""
    columns = ("series", "encoding", "server", "scrapes", "median ms", "p99 ms", "worst ms")
    table = Table(f"Scrape while every target of the exporter is polled anew in {plan.repoll:g} s", columns)
    for size in (size for size in plan.sizes if size <= plan.most_repolled):
        with exporter(size, plan.repoll) as child, control(child.url) as beside:
            urls = {name: server.url for name, server in {EXPORTER: child, **beside}.items()}
            for encoding in ENCODINGS:
                for name, seen in load.paced(urls, encoding, plan.repoll_seconds, PAUSE).items():
                    table.add(size, encoding, name, seen.count, seen.median, seen.p99, seen.worst)
    report.add(table)
