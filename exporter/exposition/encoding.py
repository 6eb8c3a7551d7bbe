"""A family's lines in both formats, made by prometheus-client's encoders."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Protocol

from prometheus_client import Metric as WireMetric
from prometheus_client.exposition import generate_latest as encode_text
from prometheus_client.openmetrics.exposition import generate_latest as encode_openmetrics
from prometheus_client.samples import Sample as WireSample
from prometheus_client.utils import floatToGoString

from exporter.metric import Family, FamilyInfo, Kind

EOF_LINE = b"# EOF\n"
MOST_TEMPLATES = 4096
_PLACE = re.compile(r"<(\d+)>")


class Format(Enum):
    """An exposition format, with its content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Registry(Protocol):
    """What prometheus-client's encoders read from."""

    def collect(self) -> Iterable[WireMetric]:
        """The families."""
        ...


@dataclass(frozen=True, slots=True)
class _One:
    metric: WireMetric

    def collect(self) -> Iterable[WireMetric]:
        return (self.metric,)


def _wire(info: FamilyInfo) -> WireMetric:
    # The encoders put a counter's `_total` back on.
    name = info.name.removesuffix("_total") if info.kind is Kind.COUNTER else info.name
    return WireMetric(name, info.help, info.kind.value, info.unit)


def _encode(metric: WireMetric, form: Format) -> bytes:
    if form is Format.TEXT:
        text: bytes = encode_text(_One(metric))
        return text
    whole: bytes = encode_openmetrics(_One(metric))  # type: ignore[no-untyped-call]
    return whole.removesuffix(EOF_LINE)


def _sample_lines(metric: WireMetric, form: Format) -> bytes:
    # Help of one line, so that it is known how many lines stand before the samples: UNIT is OpenMetrics' alone.
    bare = WireMetric(metric.name, "", metric.type, metric.unit)
    bare.samples = metric.samples
    encoded = _encode(bare, form)
    start = 0
    for _ in range(3 if form is Format.OPENMETRICS and metric.unit else 2):
        start = encoded.index(b"\n", start) + 1
    return encoded[start:]


def header(info: FamilyInfo, form: Format) -> bytes:
    """The HELP, TYPE and UNIT lines of a family."""
    return _encode(_wire(info), form)


def render(family: Family, form: Format = Format.TEXT, *, created: bool = False) -> bytes:
    """The sample lines of a family from one target.

    Args:
        family: the family.
        form: the lines are the same in both formats, but for `created`.
        created: whether counters carry their `_created` sample, which OpenMetrics alone has.
    """
    if not created:
        return _fill(family)
    metric = _wire(family.info)
    names = family.info.labels
    samples = metric.samples
    for sample in family.samples:
        labels = dict(zip(names, sample.values, strict=True))
        samples.append(WireSample(family.info.name, labels, sample.value))
        if sample.created is not None:
            samples.append(WireSample(f"{metric.name}_created", labels, sample.created))
    return _sample_lines(metric, form)


@lru_cache(maxsize=MOST_TEMPLATES)
def _template(info: FamilyInfo) -> tuple[str, tuple[int, ...]]:
    """A sample line as the client library writes it, to be filled in, and the order of the label values in it."""
    metric = _wire(info)
    labels = {name: f"<{place}>" for place, name in enumerate(info.labels)}
    metric.samples.append(WireSample(info.name, labels, 0.0))
    line = _sample_lines(metric, Format.TEXT).decode().replace("%", "%%")
    order = tuple(int(place) for place in _PLACE.findall(line))
    return _PLACE.sub("%s", line).rpartition(" ")[0] + " %s\n", order


_number: Callable[[float], str] = floatToGoString


def _fill(family: Family) -> bytes:
    """The sample lines of a family; encoding each anew would take eight times as long, a sixth of a poll."""
    template, order = _template(family.info)
    lines = []
    for sample in family.samples:
        if len(sample.values) != len(order):
            raise ValueError(f"{family.info.name} has {len(order)} labels and not {len(sample.values)}")
        escaped = [value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"") for value in sample.values]
        lines.append(template % (*(escaped[place] for place in order), _number(sample.value)))
    return "".join(lines).encode()


@dataclass(frozen=True, slots=True)
class Own:
    """A family of the program's own: its header in each format, and its lines, which are the same in both."""

    headers: dict[Format, bytes]
    lines: bytes


def encode_own(registry: Registry, admits: Callable[[str], bool]) -> Iterator[Own]:
    """The program's own families, each encoded once for both formats.

    Args:
        registry: where they are; it must tell no `_created` samples, which the two formats write differently.
        admits: whether a family of this name, as exposed, is wanted.
    """
    for metric in registry.collect():
        if admits(exposed_name(metric)):
            bare = WireMetric(metric.name, metric.documentation, metric.type, metric.unit)
            yield Own({form: _encode(bare, form) for form in Format}, _sample_lines(metric, Format.TEXT))


def exposed_name(metric: WireMetric) -> str:
    """A family's name as text shows it."""
    return f"{metric.name}_total" if metric.type == "counter" else metric.name


@dataclass(frozen=True, slots=True)
class Named:
    """What of a registry goes by some names: whole families, or single samples of them."""

    registry: Registry
    names: frozenset[str]

    def collect(self) -> Iterator[WireMetric]:
        """The families, with all samples or those that are named."""
        for metric in self.registry.collect():
            if metric.name in self.names or exposed_name(metric) in self.names:
                yield metric
                continue
            samples = [sample for sample in metric.samples if sample.name in self.names]
            if samples:
                chosen = WireMetric(metric.name, metric.documentation, metric.type, metric.unit)
                chosen.samples = samples
                yield chosen
