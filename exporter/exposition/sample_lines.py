"""Encodes families in both formats as prometheus-client does: with its encoders or, for targets, with templates."""

from collections.abc import Callable, Collection, Iterable
from enum import Enum
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from prometheus_client import Metric as WireMetric
from prometheus_client.exposition import generate_latest as encode_text
from prometheus_client.openmetrics.exposition import generate_latest as encode_openmetrics
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from exporter.metric import Family, FamilyInfo, Kind

# The most families whose template is remembered.
MOST_REMEMBERED = 4096


class Format(Enum):
    """An exposition format; the value is its content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


# The end of an exposition, after all families.
END = {Format.TEXT: b"", Format.OPENMETRICS: b"# EOF\n"}


def encode(families: Iterable[WireMetric], form: Format) -> bytes:
    """Encode families of the client library with its encoder; the end of an exposition (`END`) is left out."""
    # The encoders use no other method of a registry than `collect`.
    registry: Any = SimpleNamespace(collect=lambda: families)
    encoded: bytes = (encode_text if form is Format.TEXT else encode_openmetrics)(registry)
    return encoded.removesuffix(END[form])


def header(info: FamilyInfo, form: Format) -> bytes:
    """Return the lines that come before the samples of a family, such as `# HELP`."""
    # The encoders expect the name of a counter without `_total`.
    name = info.name.removesuffix("_total") if info.kind is Kind.COUNTER else info.name
    return encode([WireMetric(name, info.help, info.kind.value, info.unit)], form)


@lru_cache(maxsize=MOST_REMEMBERED)
def _template(info: FamilyInfo) -> Callable[..., str]:
    """Return the function that writes a sample line from the label values, in the family's order, and the number."""
    # The client library sorts labels by name.
    by_name = sorted((name, place) for place, name in enumerate(info.labels))
    labels = ",".join(f'{name}="{{{place}}}"' for name, place in by_name)
    # For example `queries{{domain="{1}",zone_id="{0}"}} {2}`: `format` writes a doubled brace as a single one.
    shown = "{{" + labels + "}}" if labels else ""
    return f"{info.name}{shown} {{{len(info.labels)}}}\n".format


_number: Callable[[float], str] = floatToGoString
# The client library writes numbers from 0 up to this one as `repr` does, and may write other numbers differently.
_LONG_NUMBER = 1e6


def render(family: Family) -> bytes:
    """Return the sample lines of a family; both formats have these lines.

    Raises ValueError if a sample has a wrong number of label values.
    """
    # The encoder of the client library would take several times as long as a template.
    line, count = _template(family.info), len(family.info.labels)
    lines: list[str] = []
    for sample in family.samples:
        values, value = sample
        if len(values) != count:
            raise ValueError(f"{family.info.name} has {count} labels, but a sample has {len(values)}")
        text = "".join(values)
        if '"' in text or "\\" in text or "\n" in text:
            values = tuple(it.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"") for it in values)
        number = repr(float(value)) if 0.0 <= value < _LONG_NUMBER else _number(value)
        lines.append(line(*values, number))
    return "".join(lines).encode()


def own_families(registry: Collector, admits: Callable[[str], bool], names: Collection[str] = ()) -> list[WireMetric]:
    """Return the families of the program's own metrics, with their current values.

    Args:
        registry: has the metrics; it must not contain `_created` samples, which the two formats write differently.
        admits: takes the name of a family (with `_total` for a counter), and returns whether the family is served.
        names: selects families by name, with or without `_total`, or by the name of a sample. Empty: all families.
    """
    families = []
    for metric in registry.collect():
        exposed = f"{metric.name}_total" if metric.type == "counter" else metric.name
        own_names = {metric.name, exposed, *(sample.name for sample in metric.samples)}
        is_selected = not names or any(name in names for name in own_names)
        if admits(exposed) and is_selected:
            families.append(metric)
    return families
