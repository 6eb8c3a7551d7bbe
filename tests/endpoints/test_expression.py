"""Expressions: `expressions.txt` has the result of each, or why it is refused."""

import tracemalloc
from pathlib import Path

import pytest

from exporter.collectors.endpoints.expression import ExpressionError, compile_expression
from tests.golden import assert_golden

CHART = {"a": 1, "b": None, "c": 2}
DOCUMENT = {"Chart": CHART, "Items": [{"Id": 1, "Name": "x"}, {"Id": 2}], "Text": "x" * 1000, "Null": None}
READ = (
    "Chart.a", "Chart.b", "@.Chart.b", "b.Chart", "Null", "Missing", "sum(values(Chart))", "sum(values(Missing))",
    "{here: sum(values(Chart)), there: sum(values(Missing))}", "length(Items)", "length(Missing)",
    "Items[*].[Name, Id]", "Items[?Id == `2`] | [0].Id", "max(values(Missing))", "not_null(Missing, Chart.c)",
    "Items == `[]`", "contains(Missing, 'x')", "Items[*].abs(Name)", "sum(Items)", "join(',', values(Chart))",
    "length([Text, Null])",
    "[" * 41 + "a" + "]" * 41, "a" * 1001, "sums(a)", "abs(a, b)",
)  # fmt: skip
# Expressions that are not done at all: with the documents that they would be done for.
BOUNDED: tuple[tuple[str, object], ...] = (
    (" | ".join(["[@, @, @, @, @][]"] * 10), [1, 2, 3]),
    (" | ".join(["join('', [@, @, @, @, @])"] * 10), "x" * 10),
    (" | ".join(["[@, @]"] * 20) + " | to_string(@)", DOCUMENT),
    ("[{a}, {a}] | [0] == [1]".replace("{a}", " | ".join(["[@, @]"] * 15)), DOCUMENT),
    ("[*].[a, a, a, a, a, a, a, a, a, a]", [{"a": 1}] * 40_000),
    ("[sum(@), sum(@), sum(@), sum(@), sum(@), sum(@), sum(@)]", [1] * 90_000),
    ("@", [1] * 100_000),
    ("@", [1] * 100_001),
)


def result(text: str, document: object) -> str:
    try:
        expression = compile_expression(text)
        return f"{expression.read(document)!r}{', null' if expression.is_null(document) else ''}"
    except ExpressionError as error:
        return f"refused: {error}"


def test_an_expression_is_read_within_its_bounds_or_refused() -> None:
    lines = [f"{text:.60}: {result(text, DOCUMENT)}\n" for text in READ]
    lines += [f"{text:.60}: {result(text, document):.120}\n" for text, document in BOUNDED]
    assert_golden("".join(lines), Path(__file__).parent / "expressions.txt")


def test_a_text_over_the_bound_is_not_built() -> None:
    tracemalloc.start()
    with pytest.raises(ExpressionError, match="yields more than 100000 values or characters"):
        compile_expression("join(Text, Parts)").read({"Text": "x" * 50_000, "Parts": [""] * 1000})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000_000
