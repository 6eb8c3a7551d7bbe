"""Makes a panel for a metric from its declaration."""

from dashboards.generator import intervals
from dashboards.generator.page import Panel, Query, Table, TimeSeries
from dashboards.generator.promql import among, highest, top
from dashboards.generator.selectors import AT_END, gauge, rate
from exporter.collectors.collector import Collector
from exporter.metric import FamilyInfo, Kind

# The most series of a graph, and the most rows of a table.
_MOST_SERIES, _MOST_ROWS = 10, 200
_UNITS = {"bytes": "bytes", "seconds": "s", "dollars": "currencyUSD", "ratio": "percentunit"}
_RATES = {"bytes": "Bps", "seconds": "s", "dollars": "currencyUSD"}


def panel(collector: Collector, info: FamilyInfo, matchers: tuple[str, ...], width: int) -> Panel:
    """Return a table of the labels of an info metric, or a graph of the highest series of any other metric.

    Args:
        collector: the collector that polls the metric.
        info: the metric.
        matchers: label matchers for the choices of the page.
        width: how many of the page's 24 columns the panel takes.
    """
    title = info.name.removeprefix("edge_").removesuffix("_total").removesuffix("_info").replace("_", " ").capitalize()
    act = f"Compare it with the days before. If series are missing, `edge-exporter explain {info.name}` says why."
    step = intervals.written(collector.interval)
    shows = info.help
    if _is_moment(info):
        shows += " The graph shows how long ago that was; below zero, the time is in the future."
    if info.name.endswith("_info"):
        query = Query(highest(top(gauge(info.name, *matchers), _MOST_ROWS), *info.labels), step=step)
        return Panel(title, info.help, act, Table(sort="Value"), (query,), width)
    if info.kind is Kind.COUNTER:
        title, unit = f"{title}, a second", _RATES.get(info.unit, "short")
    else:
        unit = _UNITS.get(info.unit, "short")
    query = Query(_highest_series(info, matchers), _legend(info.labels), step)
    return Panel(title, shows, act, TimeSeries(unit=unit, least=None), (query,), width)


def _highest_series(info: FamilyInfo, matchers: tuple[str, ...]) -> str:
    expr = highest(_value(info, matchers), *info.labels)
    if not info.labels:
        return expr
    ranking = highest(_value(info, matchers, AT_END), *info.labels)
    return among(expr, top(ranking, _MOST_SERIES), *info.labels)


def _legend(labels: tuple[str, ...]) -> str:
    """Return a legend of the labels; a label such as `script_id` is left out if there is a label `script`."""
    shown = [label for label in labels if not (label.endswith("_id") and label.removesuffix("_id") in labels)]
    return " ".join(f"{{{{{label}}}}}" for label in shown)


def _value(info: FamilyInfo, matchers: tuple[str, ...], at: str = "") -> str:
    if info.kind is Kind.COUNTER:
        return rate(info.name, *matchers, at=at)
    value = gauge(info.name, *matchers, at=at)
    return f"(time() - {value})" if _is_moment(info) else value


def _is_moment(info: FamilyInfo) -> bool:
    return info.name.endswith("_timestamp_seconds")
