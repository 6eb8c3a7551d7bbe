"""Databases: whether they answer, and gauges that users define by SQL queries (interface document, Database)."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from exporter.collectors.collector import Collector, Context, Outcome, PollResult, finite
from exporter.collectors.read_only_sql import ReadOnlyCheck
from exporter.label_values import label_value
from exporter.metric import Family, FamilyInfo, Kind, LabelValues, Sample
from exporter.platform.api import sql_over_http
from exporter.platform.api.sql_over_http import Cell, Rows
from exporter.platform.errors import Forbidden, PlatformError, StatementError, WrongShape, asks_to_wait
from exporter.platform.operation import Operation
from exporter.targets.target import Target
from exporter.validation.section import Conflict, Section, duplicates
from exporter.validation.types import OptionalInterval, Text, parse_label_name

QUERY_PREFIX = "edge_database_"
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

UP = FamilyInfo(
    "edge_database_up",
    "Whether the database executed the statement SELECT 1, polled: 0 if the last poll failed.",
    Kind.GAUGE,
    labels=("database",),
)


class DatabaseCollector(Collector):
    """Polls databases with the statement `SELECT 1`."""

    name = polls = "database"
    interval = 60
    operations: tuple[Operation[Any], ...] = (sql_over_http.PIPELINE,)
    families: tuple[FamilyInfo, ...] = (UP,)

    async def poll(self, context: Context, target: Target) -> PollResult:
        """Execute `SELECT 1`. If that fails, the outcome has the error and also the gauge with the value 0."""
        fault: PlatformError | None = None
        date = None
        try:
            answer = await sql_over_http.execute(context.caller, ["SELECT 1"], most_rows=1)
            date = answer.date
            (result,) = answer.value
            fault = result if isinstance(result, StatementError) else None
        except PlatformError as error:
            fault = error
        family = Family(UP, (Sample((label_value(target.id),), float(fault is None)),))
        return PollResult((Outcome(target, (family,), error=fault),), date)


COLLECTOR = DatabaseCollector()

_QUERY_LABELS = ("database", "query")
DURATION = FamilyInfo(
    "edge_database_query_duration_seconds",
    "How long a configured query took from request to answer, without the wait for the request budget, polled.",
    Kind.GAUGE,
    "seconds",
    _QUERY_LABELS,
)
ROWS = FamilyInfo(
    "edge_database_query_rows", "Rows that a configured query returned, polled.", Kind.GAUGE, labels=_QUERY_LABELS
)
INTERVAL = FamilyInfo(
    "edge_database_query_interval_seconds",
    "Interval at which a query is polled, as configured.",
    Kind.GAUGE,
    "seconds",
    _QUERY_LABELS,
)
_OF_EVERY_QUERY = (DURATION, ROWS, INTERVAL)


def _parse_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("expected letters, digits and '_', preferably in lower case, and no digit at the beginning")
    if any(info.name == f"{QUERY_PREFIX}{value}" for info in (UP, *_OF_EVERY_QUERY)):
        raise ValueError(f"'{value}' is taken: the exporter has a metric {QUERY_PREFIX}{value} of its own")
    return value


def _parse_label(value: str) -> str:
    name = parse_label_name(value)
    if name == "database":
        raise ValueError("'database' is taken: every query's metric already has that label")
    return name


def _parse_sql(value: str) -> str:
    if not value.strip():
        raise ValueError("is empty; expected an SQL statement")
    return value.strip()


class SqlQuery(Section):
    """An SQL query; samples of one gauge are read from the rows of the result."""

    name: Annotated[str, AfterValidator(_parse_name)] = Field(
        description="The query's name; its metric is edge_database_<name>."
    )
    help: str = Field(default="", description="The metric's help text.")
    sql: Annotated[str, AfterValidator(_parse_sql)] = Field(description="One SQL statement that only reads.")
    value: Text = Field(default="value", description="The column of the values.")
    labels: tuple[Annotated[str, AfterValidator(_parse_label)], ...] = Field(
        default=(), description="The columns that become labels."
    )
    interval: OptionalInterval = Field(
        default=None, description="The interval between two runs; null: collectors.database.interval."
    )
    max_rows: int = Field(default=1000, ge=1, le=1_000_000, description="A query that returns more rows fails.")

    def conflicts(self) -> Iterator[Conflict]:
        """Refuse a column that is used twice."""
        yield from duplicates((("labels", index), label) for index, label in enumerate(self.labels))
        if self.value in self.labels:
            message = f"'{self.value}' is the value's column, which cannot also be a label"
            yield ("labels", self.labels.index(self.value)), message

    @property
    def info(self) -> FamilyInfo:
        """The family of the gauge that the query defines."""
        help_text = self.help or f"Column {self.value} of the configured query {self.name}, polled."
        return FamilyInfo(f"{QUERY_PREFIX}{self.name}", help_text, Kind.GAUGE, labels=("database", *self.labels))


@dataclass(frozen=True, slots=True)
class DatabaseQuery:
    """A query, the name of its database, and the seconds from one poll of the query to the next."""

    database: str
    query: SqlQuery
    interval: float

    def target(self) -> Target:
        """Return the query's target. If the query changes, so do the attributes, and the target is polled anew."""
        query = self.query
        attributes = {
            "sql": query.sql,
            "value": query.value,
            "labels": str(query.labels),
            "help": query.info.help,
            "max_rows": str(query.max_rows),
        }
        return Target("", "query", f"{self.database}/{query.name}", query.name, attributes, interval=self.interval)


class QueryCollector(Collector):
    """Polls the configured queries. Each query is a target: an SQL error of one query does not affect the others."""

    name = "database_queries"
    # Queries have the settings of the collector `database`; a query may set an interval of its own.
    section = COLLECTOR.section
    polls = "query"
    interval = COLLECTOR.interval
    operations: tuple[Operation[Any], ...] = (sql_over_http.PIPELINE,)

    def __init__(self, queries: Iterable[DatabaseQuery]) -> None:
        self._queries = {query.target().id: query for query in queries}
        self._check = ReadOnlyCheck()
        self.families = (*_OF_EVERY_QUERY, *(one.query.info for one in self._queries.values()))

    def families_of(self, _kind: str, target_id: str) -> tuple[FamilyInfo, ...]:
        """Return the families that every query has and, if the query is configured, the family of its gauge."""
        found = self._queries.get(target_id)
        return _OF_EVERY_QUERY if found is None else (*_OF_EVERY_QUERY, found.query.info)

    def wants(self, target: Target) -> bool:
        """Return whether the query is configured."""
        return target.id in self._queries

    async def poll(self, context: Context, target: Target) -> PollResult:
        """Check that the query only reads, execute it, and convert the rows to samples."""
        configured = self._queries[target.id]
        database, query = configured.database, configured.query
        try:
            await self._check.require_read_only(context.caller, database, query.sql)
            answer = await sql_over_http.execute(context.caller, [query.sql], most_rows=query.max_rows)
        except Forbidden as error:
            # A refusal that asks to wait does not concern the token's rights.
            if asks_to_wait(error):
                raise
            raise Forbidden(f"the token does not permit this query: {error}", status=error.status) from None
        (result,) = answer.value
        if isinstance(result, StatementError):
            raise result
        labels = (label_value(database), query.name)
        families = [
            Family(DURATION, (Sample(labels, answer.seconds),)),
            Family(ROWS, (Sample(labels, float(len(result.rows))),)),
            Family(INTERVAL, (Sample(labels, configured.interval),)),
        ]
        if samples := samples_of(database, query, result):
            families.append(Family(query.info, samples))
        return PollResult((Outcome(target, tuple(families)),), answer.date)


def samples_of(database: str, query: SqlQuery, rows: Rows) -> tuple[Sample, ...]:
    """Return the samples of a query's rows; a row whose value is NULL, NaN, infinite or too large for a float has none.

    The value of the first label is the name of the database.

    Raises:
        WrongShape: a needed column is missing or there twice; a value is not a number; two samples would have equal
            labels; or there are more rows than `max_rows`.
    """
    if rows.is_cut:
        raise WrongShape(f"the query returned more rows than max_rows ({query.max_rows})")
    columns = _positions(query, rows.columns)
    samples: dict[LabelValues, Sample] = {}
    for number, row in enumerate(rows.rows, start=1):
        value = _number(row[columns[query.value]], query.value, number)
        if value is None:
            continue
        texts = [_text(row[columns[label]]) for label in query.labels]
        labels = tuple(map(label_value, (database, *texts)))
        if labels in samples:
            shown = ", ".join(f"{name}={text!r}" for name, text in zip(query.labels, labels[1:], strict=True))
            raise WrongShape(f"row {number} has the same labels as another row: {shown or 'no labels at all'}")
        samples[labels] = Sample(labels, value)
    # The order of the rows may change from poll to poll; the order of the samples must not.
    return tuple(samples[labels] for labels in sorted(samples))


def _positions(query: SqlQuery, names: Sequence[str]) -> Mapping[str, int]:
    needed = (query.value, *query.labels)
    twice = [name for name in needed if names.count(name) > 1]
    if twice:
        raise WrongShape(f"the query returned more than one column named {', '.join(twice)}")
    missing = [name for name in needed if name not in names]
    if missing:
        all_names = ", ".join(names) or "none"
        raise WrongShape(f"the query returned no column named {', '.join(missing)}; its columns are: {all_names}")
    return {name: names.index(name) for name in needed}


# Text that is a number; Python's `float` would also accept `1_000`. A text can match in one way only, so that
# megabytes of digits are rejected fast.
_NUMBER = re.compile(r"\s*[+-]?((\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|nan|inf(inity)?)\s*", re.ASCII | re.IGNORECASE)


def _number(cell: Cell, column: str, row: int) -> float | None:
    if cell is None:
        return None
    if isinstance(cell, bytes):
        raise WrongShape(f"row {row}: {column} is a blob, not a number")
    if isinstance(cell, str) and _NUMBER.fullmatch(cell) is None:
        raise WrongShape(f"row {row}: {column} is text that is not a number")
    return finite(float(cell) if isinstance(cell, str) else cell)


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
