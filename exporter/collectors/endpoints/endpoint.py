"""The configuration of endpoints: GET requests whose answers become metrics."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator

from exporter.collectors import dns_statistics, scripts, shield_access_lists, shield_api_guardian, shield_rate_limits
from exporter.collectors.catalogue import CATALOGUE
from exporter.collectors.collector import Label
from exporter.collectors.endpoints.expression import Expression, ExpressionError, compile_expression
from exporter.collectors.endpoints.path import Path, parse_path
from exporter.mask import is_secret_name
from exporter.platform.api.operations import OPERATIONS
from exporter.validation.section import Conflict, Section, broken, duplicates
from exporter.validation.types import Interval, Text, parse_label_name, parse_text

ACCOUNT_KIND = "account"
# A built-in kind of target that an endpoint may poll → the labels of the target's series.
KIND_LABELS: Mapping[str, tuple[Label[Any], ...]] = {
    collector.polls: collector.labels
    for collector in (
        dns_statistics.COLLECTOR,
        scripts.COLLECTOR,
        shield_api_guardian.COLLECTOR,
        shield_rate_limits.COLLECTOR,
        shield_access_lists.COLLECTOR,
    )
}
LONGEST_ID = 200
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}", re.ASCII)
_METRIC_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*", re.ASCII)
LONGEST_METRIC_NAME = 200
# Ends of names that Prometheus or OpenMetrics reserves for parts of histograms or counters.
_RESERVED_ENDS = ("_bucket", "_created")
_SOURCE_KEYS = ("value", "days", "month", "info")
_TARGET_KEYS = ("each", "ids", "kind")
_NEEDS_PAGE = "needs the key 'page', which names the query parameter of the page number"
_WITH_INFO = "set together with 'info', which takes neither a label nor a scale"
# Labels that Prometheus, histograms, summaries or the exporter's own series use.
_TAKEN_LABELS = frozenset({"account", "le", "quantile", "job", "instance"})
# The name of an endpoint is also the name of a collector and an operation and, by default, of a kind of target.
TAKEN_COLLECTOR_NAMES = frozenset(
    {*(collector.name for collector in CATALOGUE), *(operation.name for operation in OPERATIONS), ACCOUNT_KIND}
)
# The names of pull zones have the kind `cdn`, which no collector polls.
_TAKEN_KINDS = frozenset({*(collector.polls for collector in CATALOGUE), "cdn"})


def _parse_expression(value: object) -> Expression:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("expected a JMESPath expression such as Totals.Bandwidth")
    try:
        return compile_expression(value.strip())
    except ExpressionError as error:
        raise ValueError(f"expected a JMESPath expression ({error})") from None


def _secret_problem(expression: Expression) -> str:
    """Return why the values of an expression must not be labels; empty without a field that is named like a secret."""
    secrets = sorted(filter(is_secret_name, expression.fields()))
    return f"reads {secrets[0][:60]}, which is named like a secret and cannot be a label" if secrets else ""


def _parse_label_expression(value: object) -> Expression:
    expression = _parse_expression(value)
    if problem := _secret_problem(expression):
        raise ValueError(problem)
    return expression


def _parse_path(value: object) -> Path:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("expected a path such as /pullzone/{id}")
    return parse_path(value.strip())


def _parse_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("expected at most 63 lower-case letters, digits and '_', beginning with a letter")
    if value in TAKEN_COLLECTOR_NAMES:
        raise ValueError(f"'{value}' is taken: the exporter has a collector, operation or kind of that name")
    return value


def _parse_metric_name(value: str) -> str:
    if not _METRIC_NAME.fullmatch(value):
        raise ValueError("expected a metric name of letters, digits, '_' and ':' that does not start with a digit")
    if value.startswith("__") or value.endswith(_RESERVED_ENDS):
        raise ValueError(f"'{value[:60]}' is reserved: a name must not begin with '__' or end with _bucket or _created")
    if len(value) > LONGEST_METRIC_NAME:
        raise ValueError(f"'{value[:60]}…' has {len(value)} characters, expected at most {LONGEST_METRIC_NAME}")
    return value


def _parse_label(value: str) -> str:
    name = parse_label_name(value)
    if name in _TAKEN_LABELS:
        raise ValueError(f"'{name}' is taken: the series already have that label, or Prometheus uses it")
    if is_secret_name(name):
        raise ValueError(f"'{name}' is named like a secret, which cannot be a label")
    return name


def _parse_id(value: str) -> str:
    text = parse_text(value)
    # '.' and '..' in a path would lead to another path.
    if len(text) > LONGEST_ID or text in (".", ".."):
        raise ValueError(f"expected an id of at most {LONGEST_ID} characters, other than '.' and '..'")
    return text


def _given(section: Section, keys: Sequence[str]) -> list[str]:
    # A key that is not set may have an empty default instead of null.
    return [key for key in keys if key in section.model_fields_set and getattr(section, key) is not None]


def _parsed_by(parse: Callable[[object], object]) -> tuple[PlainValidator, PlainSerializer]:
    return PlainValidator(parse), PlainSerializer(lambda value: value.text)


ExpressionField = Annotated[Expression, *_parsed_by(_parse_expression)]
LabelExpression = Annotated[Expression, *_parsed_by(_parse_label_expression)]
PathField = Annotated[Path, *_parsed_by(_parse_path)]
LabelName = Annotated[str, AfterValidator(_parse_label)]


class TargetList(Section):
    """The list of the platform that contains an endpoint's targets."""

    list: PathField = Field(description="The list's path, such as /pullzone.")
    items: ExpressionField = Field(
        description="An expression for the array of items; @ if the answer itself is the array."
    )
    id: LabelExpression = Field(description="An expression for the id of an item.")
    name: LabelExpression | None = Field(default=None, description="An expression for the name of an item.")
    page: Text | None = Field(default=None, description="The query parameter for the number of the page, from 1 on.")
    size: Text | None = Field(default=None, description="The query parameter for the size of a page.")
    more: ExpressionField | None = Field(default=None, description="An expression for whether another page follows.")

    def conflicts(self) -> Iterator[Conflict]:
        """Require the key `page` for `size` and `more`, and a path without a target's id."""
        lacks_page = self.page is None
        return broken(
            (lacks_page and self.size, "size", _NEEDS_PAGE),
            (lacks_page and self.more, "more", _NEEDS_PAGE),
            (self.list.has_target_id, "list", "contains {id}, but a list is requested for a whole account"),
        )


class EndpointMetric(Section):
    """One metric of an endpoint."""

    name: Annotated[str, AfterValidator(_parse_metric_name)] = Field(description="The metric's name.")
    help: str = Field(default="", description="The metric's help text, one sentence.")
    value: ExpressionField | None = Field(
        default=None,
        description="A gauge: an expression for its value or, if label is set, for an object or a list of pairs.",
    )
    days: ExpressionField | None = Field(default=None, description="A counter: an expression for a chart of days.")
    month: ExpressionField | None = Field(
        default=None, description="A counter: an expression for a value of the month to date."
    )
    info: Mapping[LabelName, LabelExpression] = Field(
        default_factory=dict, description="An info metric: names of labels, with expressions for their values."
    )
    label: LabelName | None = Field(
        default=None,
        description="A label. The expression then gives an object, whose keys are the values of the label, or a list "
        "of pairs, which begin with these values.",
    )
    scale: float = Field(default=1.0, gt=0, le=1e18, allow_inf_nan=False, description="A factor for the values.")

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels that follow the target's labels."""
        return tuple(self.info) or ((self.label,) if self.label else ())

    def conflicts(self) -> Iterator[Conflict]:
        """Require one source, a name and keys that fit the source, and no label from a field named like a secret."""
        sources = _given(self, _SOURCE_KEYS)
        if len(sources) != 1:
            found = " and ".join(sources) or "none"
            # The error is shown at the second source or, if there is no source, at the metric.
            yield tuple(sources[1:2]), f"found {found}, expected one of {', '.join(_SOURCE_KEYS)}"
            return
        source = sources[0]
        is_info = source == "info"
        yield from self._suffix_conflicts(source, "_total", ("days", "month"))
        yield from self._suffix_conflicts(source, "_info", ("info",))
        yield from broken(
            (is_info and self.label, "label", _WITH_INFO),
            (is_info and "scale" in self.model_fields_set, "scale", _WITH_INFO),
            (is_info and not self.info, "info", "is empty; expected labels and expressions"),
        )
        yield from self._secret_conflicts(source)

    def _secret_conflicts(self, source: str) -> Iterator[Conflict]:
        """Refuse an expression by which a secret in the answer could become a value of `label`."""
        expression = self.value or self.days or self.month
        # In `{a: A, b: B}`, the keys are the values of `label`: none of these values comes from the answer.
        if not self.label or expression is None or expression.branches() is not None:
            return
        if problem := _secret_problem(expression):
            yield (source,), problem

    def _suffix_conflicts(self, source: str, suffix: str, users: Sequence[str]) -> Iterator[Conflict]:
        """If the source is one of `users`, require a name that ends with `suffix`; otherwise, refuse such a name."""
        has_suffix = self.name.endswith(suffix)
        shown = f"'{self.name[:60]}'"
        if source in users and not has_suffix:
            yield ("name",), f"{shown} uses {source}, so the name must end with {suffix}"
        if has_suffix and source not in users:
            yield ("name",), f"{shown} ends with {suffix}, which is for metrics with {' or '.join(users)}"


class Endpoint(Section):
    """A further path of the platform that is polled, and the metrics that are read from its answers."""

    name: Annotated[str, AfterValidator(_parse_name)] = Field(
        description="The name of the collector; collectors.<name> has its settings."
    )
    path: PathField = Field(description="The path of the GET requests, below each account's base_url.")
    each: TargetList | None = None
    ids: tuple[Annotated[str, AfterValidator(_parse_id)], ...] = Field(
        default=(), description="The ids of the targets."
    )
    kind: Text | None = Field(default=None, description="An existing kind, such as dns_zone: its targets are polled.")
    interval: Interval = Field(default=600.0, description="The interval between two polls of a target.")
    label: LabelName | None = Field(
        default=None, description="Gives the targets the labels <label>_id and <label>; null: the endpoint's name."
    )
    metrics: tuple[EndpointMetric, ...] = Field(max_length=200, description="The metrics in the answers.")

    @property
    def target_kind(self) -> str:
        """The kind of the endpoint's targets; `account` if none of the keys `each`, `ids` and `kind` is set."""
        return self.kind or self.own_kind or ACCOUNT_KIND

    @property
    def own_kind(self) -> str:
        """The kind of the targets from `each` or `ids`, and the prefix of their labels; empty without these keys."""
        has_own_targets = self.each is not None or bool(self.ids)
        return (self.label or self.name) if has_own_targets else ""

    def conflicts(self) -> Iterator[Conflict]:
        """Require targets, a path, a label and metrics that fit each other; refuse duplicate ids and metrics."""
        given = _given(self, _TARGET_KEYS)
        yield from self._target_conflicts(given)
        yield from broken((not self.metrics, "metrics", "is empty; expected metrics"))
        yield from self._label_conflicts(has_own_targets="each" in given or "ids" in given)
        yield from duplicates((("ids", index), text) for index, text in enumerate(self.ids))
        yield from duplicates((("metrics", index, "name"), one.name) for index, one in enumerate(self.metrics))

    def _target_conflicts(self, given: Sequence[str]) -> Iterator[Conflict]:
        if len(given) > 1:
            yield (given[1],), f"set together with '{given[0]}'; expected one of 'each', 'ids' and 'kind'"
        first = given[0] if given else ""
        has_id = self.path.has_target_id
        yield from broken(
            (first and not has_id, "path", f"contains no {{id}}, which the targets of the key '{first}' need"),
            (has_id and not first, "path", "contains {id}, but none of the keys 'each', 'ids' and 'kind' is set"),
            ("ids" in given and not self.ids, "ids", "is empty; expected ids"),
        )

    def _label_conflicts(self, *, has_own_targets: bool) -> Iterator[Conflict]:
        new_kind, key = self.label or self.name, "label" if self.label else "name"
        or_key = f", or the key 'kind: {new_kind}'" if new_kind in KIND_LABELS else ""
        taken = f"'{new_kind}' is already a kind of target; expected another {key}{or_key}"
        unused = "needs the key 'each' or 'ids'; other targets already have labels"
        yield from broken(
            (self.label is not None and not has_own_targets, "label", unused),
            (has_own_targets and new_kind in _TAKEN_KINDS, key, taken),
        )
