"""Encodes the lines of a family in both formats, as prometheus-client's encoders do."""

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import lru_cache
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

from prometheus_client import Metric as WireMetric
from prometheus_client.exposition import generate_latest as encode_text
from prometheus_client.openmetrics.exposition import generate_latest as encode_openmetrics
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample as WireSample
from prometheus_client.utils import floatToGoString

from exporter.metric import Family, FamilyInfo, Kind, LabelValues

MOST_REMEMBERED = 4096
_PLACE = re.compile(r"<(\d+)>")


class Format(Enum):
    """An exposition format, with its content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


# What stands after all families.
END = {Format.TEXT: b"", Format.OPENMETRICS: b"# EOF\n"}


def _wire(info: FamilyInfo) -> WireMetric:
    # The encoders add the `_total` of a counter.
    name = info.name.removesuffix("_total") if info.kind is Kind.COUNTER else info.name
    return WireMetric(name, info.help, info.kind.value, info.unit)


def _encode(metric: WireMetric, form: Format) -> bytes:
    # The encoders ask a registry for its families, and for nothing else.
    family: Any = SimpleNamespace(collect=lambda: (metric,))
    encoded: bytes = (encode_text if form is Format.TEXT else encode_openmetrics)(family)
    return encoded.removesuffix(END[form])


def _sample_lines(metric: WireMetric, samples: list[WireSample]) -> bytes:
    bare = WireMetric(metric.name, "", metric.type, metric.unit)
    bare.samples = samples
    # An empty help text gives one line, so that two lines are before the samples.
    return _encode(bare, Format.TEXT).split(b"\n", 2)[2]


def header(info: FamilyInfo, form: Format) -> bytes:
    """Return the HELP, TYPE and UNIT lines of a family."""
    return _encode(_wire(info), form)


@lru_cache(maxsize=MOST_REMEMBERED)
def _template(info: FamilyInfo) -> tuple[str, Callable[[LabelValues], LabelValues]]:
    """Return a template of a sample line, as the client library writes it, and what puts label values in its order."""
    labels = {name: f"<{place}>" for place, name in enumerate(info.labels)}
    line = _sample_lines(_wire(info), [WireSample(info.name, labels, 0.0)]).decode().replace("%", "%%")
    order = [int(place) for place in _PLACE.findall(line)]
    # With one index, itemgetter would return a single value instead of a tuple.
    in_order: Callable[[LabelValues], LabelValues] = itemgetter(*order) if len(order) > 1 else tuple
    return _PLACE.sub("%s", line).rpartition(" ")[0] + " %s\n", in_order


_number: Callable[[float], str] = floatToGoString
# The client library writes numbers from this one on in another form than Python.
_LONG_NUMBER = 1e6


def render(family: Family) -> bytes:
    """Return the sample lines of a family of one target, from a template: the encoder would take eight times as long.

    They are the same in both formats.
    """
    (line, in_order), count = _template(family.info), len(family.info.labels)
    lines: list[str] = []
    for sample in family.samples:
        values, value = sample
        if len(values) != count:
            raise ValueError(f"{family.info.name} has {count} labels and not {len(values)}")
        text = "".join(values)
        if '"' in text or "\\" in text or "\n" in text:
            values = tuple(it.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"") for it in values)
        number = repr(float(value)) if 0.0 <= value < _LONG_NUMBER else _number(value)
        lines.append(line % (*in_order(values), number))
    return "".join(lines).encode()


def encode_own(
    registry: Collector, admits: Callable[[str], bool], names: frozenset[str] = frozenset()
) -> Iterator[tuple[Mapping[Format, bytes], bytes]]:
    """Yield the header in each format and the lines, which are the same in both, of the program's own families.

    Args:
        registry: holds them; it must not contain `_created` samples, which the two formats write differently.
        admits: returns whether a family with this exposed name is served.
        names: selects families by either name, or that of any of their samples; an empty set selects everything.
    """
    for metric in registry.collect():
        exposed = f"{metric.name}_total" if metric.type == "counter" else metric.name
        own_names = {metric.name, exposed, *(sample.name for sample in metric.samples)}
        if admits(exposed) and not (names and names.isdisjoint(own_names)):
            header_lines = _own_header(metric.name, metric.documentation, metric.type, metric.unit)
            yield header_lines, _sample_lines(metric, metric.samples)


@lru_cache(maxsize=MOST_REMEMBERED)
def _own_header(name: str, text: str, kind: str, unit: str) -> Mapping[Format, bytes]:
    return {form: _encode(WireMetric(name, text, kind, unit), form) for form in Format}
