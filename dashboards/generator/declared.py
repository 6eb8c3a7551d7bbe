"""Makes a panel of a metric from its declaration."""

from dashboards.generator import intervals
from dashboards.generator.page import Panel, Query, Table, TimeSeries
from dashboards.generator.promql import among, highest, top
from dashboards.generator.selectors import AT_END, gauge, rate
from exporter.collectors.collector import Collector
from exporter.metric import FamilyInfo, Kind

_SERIES, _TABLE_ROWS = 10, 200
_UNITS = {"bytes": "bytes", "seconds": "s", "dollars": "currencyUSD", "ratio": "percentunit"}
_RATES = {"bytes": "Bps", "seconds": "s", "dollars": "currencyUSD"}


def panel(collector: Collector, info: FamilyInfo, matchers: tuple[str, ...], width: int) -> Panel:
    """Return a table of an info's labels, or a graph of a metric's highest series."""
    title = info.name.removeprefix("edge_").removesuffix("_total").removesuffix("_info").replace("_", " ").capitalize()
    act = f"Compare it with the days before. Where series are missing, `edge-exporter explain {info.name}` says why."
    step = intervals.written(collector.interval)
    if info.name.endswith("_info"):
        query = Query(highest(top(gauge(info.name, *matchers), _TABLE_ROWS), *info.labels), step=step)
        return Panel(title, info.help, act, Table(sort="Value"), (query,), width)
    if info.kind is Kind.COUNTER:
        title, unit = f"{title}, a second", _RATES.get(info.unit, "short")
    else:
        unit = _UNITS.get(info.unit, "short")
    expr, ranking = (highest(_value(info, matchers, at), *info.labels) for at in ("", AT_END))
    if info.labels:
        expr = among(expr, top(ranking, _SERIES), *info.labels)
    # If a target has a name, the legend leaves its id out.
    shown = [label for label in info.labels if label == label.removesuffix("_id") or label[:-3] not in info.labels]
    legend = " ".join(f"{{{{{label}}}}}" for label in shown)
    view = TimeSeries(unit=unit, least=None)
    return Panel(title, info.help, act, view, (Query(expr, legend, step),), width)


def _value(info: FamilyInfo, matchers: tuple[str, ...], at: str) -> str:
    if info.kind is Kind.COUNTER:
        return rate(info.name, *matchers, at=at)
    value = gauge(info.name, *matchers, at=at)
    return f"(time() - {value})" if info.name.endswith("_timestamp_seconds") else value
