"""Converts the results of expressions to numbers and sources; a value of a wrong type makes the whole poll fail."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from exporter.collectors.collector import finite
from exporter.collectors.endpoints.endpoint import EndpointMetric
from exporter.collectors.endpoints.expression import Expression, ExpressionError, whole_as_integer
from exporter.collectors.endpoints.path import Path
from exporter.metric import DayBuckets, Metric, MonthToDate, Source, declaration, is_count
from exporter.platform.api.charts import DATE, Buckets
from exporter.platform.api.document import Document
from exporter.platform.wire import Moment, timestamp

T = TypeVar("T")
Convert = Callable[[object], T | None]
MOST_SAMPLES = 10_000
_TIMESTAMP = "_timestamp_seconds"
_PAIR_LENGTH = 2
_KINDS = {type(None): "nothing", bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list"}
_MOMENT: TypeAdapter[datetime | None] = TypeAdapter(Moment)


def metric_of(declared: EndpointMetric, path: Path) -> Metric[Document]:
    """Return a configured metric in the form that built-in collectors use; `path` is the endpoint's path."""
    help_text = declared.help or f"Read from GET {path.text}, polled."
    name, labels = declared.name, declared.labels
    gauge, source = declared.value, declared.days or declared.month
    if gauge is not None:
        return Metric(name, help_text, lambda answer: _gauge(declared, gauge, answer.value), labels=labels)
    if source is None:
        return Metric(name, help_text, lambda answer: _info(declared.info, answer.value), labels=labels)
    period = "days" if declared.days else "month"
    counted_by = (path.canonical(), period, source.canonical(), declared.label or "", repr(declared.scale))
    return Metric(
        name,
        help_text,
        counted=lambda answer: _counted(declared, source, answer.value),
        labels=labels,
        declared=declaration(counted_by),
    )


def _gauge(declared: EndpointMetric, value: Expression, document: object) -> Mapping[str, float] | float | None:
    read = _timestamp if declared.name.endswith(_TIMESTAMP) else _number
    return _read(declared, value, document, lambda found: read(found, declared.scale))


def _counted(declared: EndpointMetric, source: Expression, document: object) -> Mapping[str, Source] | Source | None:
    read: Callable[[EndpointMetric, object], Source | None] = _days if declared.days else _month
    return _read(declared, source, document, lambda found: read(declared, found))


def _read(
    declared: EndpointMetric, expression: Expression, document: object, convert: Convert[T]
) -> Mapping[str, T] | T | None:
    """Return the converted result of an expression; for a metric with a label, label value → converted result."""
    found = expression.read(document)
    if declared.label:
        return _by_label(declared.label, found, expression, document, convert)
    return _convert_present(found, expression, document, convert)


def _convert_present(found: object, expression: Expression | None, document: object, convert: Convert[T]) -> T | None:
    """Convert a result. Return None for a missing result: a null that is not in the answer (`Expression.is_null`)."""
    is_null_of_answer = expression is not None and expression.is_null(document)
    is_missing = found is None and not is_null_of_answer
    return None if is_missing else convert(found)


def _by_label(
    label: str, found: object, expression: Expression, document: object, convert: Convert[T]
) -> Mapping[str, T] | None:
    """Return label value → converted result, without missing results; None if the answer lacks the data."""
    if found is None:
        return None
    # An expression of the form `{a: A, b: B}` has a branch for each label value.
    branches = expression.branches() or {}
    entries = _pairs(found)
    if len(entries) > MOST_SAMPLES:
        raise ExpressionError(f"found {len(entries)} values of the label {label}, expected at most {MOST_SAMPLES}")
    converted: dict[str, T] = {}
    for key, entry in entries.items():
        value = _convert_present(entry, branches.get(key), document, convert)
        if value is not None:
            converted[key] = value
    # `{a: A, b: B}` gives an object even if the answer lacks A and B. Without branches, an empty object is data.
    is_missing = bool(branches) and not converted
    return None if is_missing else converted


def _pairs(found: object) -> Mapping[str, object]:
    if isinstance(found, dict):
        return {str(key): value for key, value in found.items()}
    if not isinstance(found, list):
        raise ExpressionError(f"found {_kind(found)}, expected an object such as {{a: A, b: B}}, or a list of pairs")
    pairs: dict[str, object] = {}
    for label, value in _require_pairs(found, "Name"):
        if label is None:
            # A missing field gives no sample.
            continue
        key = _text(label)
        if key in pairs:
            raise ExpressionError(f"found the label value {key[:60]!r} twice")
        pairs[key] = value
    return pairs


def _require_pairs(items: list[Any], first: str) -> list[Any]:
    """Return the items; raise ExpressionError if one is not a pair. The message calls the first value `first`."""
    for item in items:
        if not isinstance(item, list) or len(item) != _PAIR_LENGTH:
            raise ExpressionError(f"found {_kind(item)} in a list, expected pairs such as [{first}, Count]")
    return items


def _number(found: object, scale: float) -> float | None:
    if found is None:
        return None
    if isinstance(found, bool | int | float):
        value = finite(found)
        return None if value is None else value * scale
    hint = "; use to_number(…) for a number in quotes" if isinstance(found, str) else ""
    raise ExpressionError(f"found {_kind(found)}, expected a number{hint}")


def _timestamp(found: object, scale: float) -> float | None:
    if not isinstance(found, str):
        return _number(found, scale)
    try:
        return timestamp(_MOMENT.validate_python(found))
    except ValidationError:
        # A date that Python cannot convert, such as a leap second or the 30th of February, gives no value.
        if DATE.match(found):
            return None
        raise ExpressionError("found a text that is not a date, expected a date or unix seconds") from None


def _count(found: object, scale: float) -> float | None:
    if isinstance(found, bool):
        raise ExpressionError("found a boolean, expected a number")
    return _number(found, scale)


def _days(declared: EndpointMetric, found: object) -> DayBuckets:
    return DayBuckets.of(None if found is None else Buckets.of(_chart(found, declared.scale)).sums)


def _month(declared: EndpointMetric, found: object) -> MonthToDate | None:
    value = _count(found, declared.scale)
    return None if value is None else MonthToDate(value)


def _chart(found: object, scale: float) -> Mapping[str, float | None]:
    """Return day → the sum of the day's entries that are counts (`is_count`); None for a day without such an entry."""
    if isinstance(found, dict):
        entries: list[Any] = list(found.items())
    elif isinstance(found, list):
        entries = _require_pairs(found, "Date")
    else:
        raise ExpressionError(f"found {_kind(found)}, expected an object of days, or a list of pairs")
    if len(entries) > MOST_SAMPLES:
        raise ExpressionError(f"found {len(entries)} days, expected at most {MOST_SAMPLES}")
    chart: dict[str, float | None] = {}
    for key, item in entries:
        day, number = str(key), _count(item, scale)
        if number is not None and is_count(number):
            # A list may contain several pairs of a day.
            chart[day] = (chart.get(day) or 0.0) + number
        else:
            chart.setdefault(day, None)
    return chart


def _info(parts: Mapping[str, Expression], document: object) -> Mapping[tuple[str, ...], float] | None:
    found = [part.read(document) for part in parts.values()]
    if all(one is None for one in found):
        return None
    return {tuple("" if one is None else _text(one) for one in found): 1.0}


def _text(found: object) -> str:
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, str | int | float):
        return str(whole_as_integer(found))
    raise ExpressionError(f"found {_kind(found)}, expected a text or a number for a label")


def _kind(found: object) -> str:
    return _KINDS.get(type(found), "an object")
