"""Parses PromQL expressions into their parts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

import promql_parser
from promql_parser import (
    AggregateExpr,
    BinaryExpr,
    Call,
    Expr,
    MatrixSelector,
    ParenExpr,
    SubqueryExpr,
    UnaryExpr,
    VectorSelector,
)

from tests.dashboards.uses import Use, filled_in

# Durations that no query contains; they replace Grafana's interval variables.
RATE_INTERVAL = timedelta(minutes=17)
RANGE = timedelta(minutes=19)


@dataclass(frozen=True, slots=True)
class Selected:
    """A selector, and the expressions that contain it, the innermost first."""

    selector: VectorSelector
    around: tuple[Expr, ...]

    @property
    def name(self) -> str:
        """The name of the series; empty if a regular expression matches it."""
        return self.selector.name or ""

    @property
    def labels(self) -> frozenset[str]:
        """The labels that it asks for."""
        return frozenset(matcher.name for matcher in self.selector.matchers.matchers)

    @property
    def call(self) -> str:
        """The function whose argument the selector is; empty if there is none."""
        for expr in self.around:
            if isinstance(expr, Call):
                return expr.func.name
            if isinstance(expr, AggregateExpr | BinaryExpr):
                break
        return ""

    @property
    def range(self) -> timedelta | None:
        """The range of the selector; None if it has none."""
        for expr in self.around:
            if isinstance(expr, MatrixSelector | SubqueryExpr):
                return expr.range
            if isinstance(expr, Call):
                break
        return None

    @property
    def aggregation(self) -> str:
        """The innermost aggregation that contains it, as PromQL."""
        for expr in self.around:
            if isinstance(expr, AggregateExpr):
                return f"{expr.op} {expr.modifier}"
        return ""


def parse(use: Use) -> Expr:
    """Parse a query; Grafana's interval variables are replaced by durations that no query contains."""
    marked = use.query.expr.replace("$__rate_interval", "17m").replace("$__range", "19m")
    return promql_parser.parse(filled_in(replace(use, query=replace(use.query, expr=marked))))


def parts(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct parts of an expression."""
    match expr:
        case AggregateExpr():
            return (expr.expr, expr.param) if isinstance(expr.param, Expr) else (expr.expr,)
        case BinaryExpr():
            return (expr.lhs, expr.rhs)
        case Call():
            return tuple(expr.args)
        case MatrixSelector():
            return (expr.vector_selector,)
        case ParenExpr() | SubqueryExpr() | UnaryExpr():
            return (expr.expr,)
        case _:
            return ()


def walk(expr: Expr, around: tuple[Expr, ...] = ()) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
    """Yield every part with the expressions that contain it, the innermost first."""
    yield expr, around
    for part in parts(expr):
        yield from walk(part, (expr, *around))


def selected(query: Use | str) -> list[Selected]:
    """Return every selector of a query."""
    expr = promql_parser.parse(query) if isinstance(query, str) else parse(query)
    return [Selected(part, around) for part, around in walk(expr) if isinstance(part, VectorSelector)]


def seconds(duration: str) -> float:
    """Return the seconds of a duration in Prometheus' notation, such as 9d2h."""
    return promql_parser.parse_duration(duration).total_seconds()
