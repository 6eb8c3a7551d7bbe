"""Expressions: `expressions.txt` has the result of each, or why it is refused."""

from math import inf
from pathlib import Path

from exporter.collectors.endpoints.expression import ExpressionError, compile_expression
from tests.golden import assert_golden

CHART = {"a": 1, "b": None, "c": 2}
DOCUMENT = {"Chart": CHART, "Items": [{"Id": 1, "Name": "x"}, {"Id": 2}], "Text": "x" * 1000, "Null": None, "Inf": inf}
READ = (
    "Chart.a", "Chart.b", "@.Chart.b", "b.Chart", "Null", "Missing", "sum(values(Chart))", "sum(values(Missing))",
    "{here: sum(values(Chart)), there: sum(values(Missing))}", "sum([Missing, Null])", "sum(`[]`)", "length(Missing)",
    "Items[*].[Name, Id]", "Items[?Id == `2`] | [0].Id", "max(values(Missing))", "not_null(Missing, Chart.c)",
    "Items == `[]`", "contains(Missing, 'x')", "Items[*].abs(Name)", "sum(Items)", "max(Chart)", "min(Text)",
    "join(',', values(Chart))", "length([Text, Null])", "length(Items)", "ceil(Inf)", "Items[::0]",
    "contains(Text, `1`)", "[" * 500 + "a" + "]" * 500, "||".join(["a"] * 600), "sums(a)", "abs(a, b)",
)  # fmt: skip


def result(text: str, document: object) -> str:
    try:
        expression = compile_expression(text)
        return f"{expression.read(document)!r}{', null' if expression.is_null(document) else ''}"
    except ExpressionError as error:
        return f"refused: {error}"


def test_an_expression_is_read_or_refused() -> None:
    lines = [f"{text:.60}: {result(text, DOCUMENT)}\n" for text in READ]
    assert_golden("".join(lines), Path(__file__).parent / "expressions.txt")
