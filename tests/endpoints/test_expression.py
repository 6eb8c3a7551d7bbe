"""Expressions: their results, and their limits."""

import tracemalloc

import pytest

from exporter.collectors.endpoints.expression import ExpressionError, compile_expression

CHART = {"a": 1, "b": None, "c": 2}
DOCUMENT = {"Chart": CHART, "Items": [{"Id": 1, "Name": "x"}, {"Id": 2}], "Text": "x" * 1000, "Null": None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Chart.a", 1),
        ("sum(values(Chart))", 3),
        ("sum(values(Missing))", None),
        ("{here: sum(values(Chart)), there: sum(values(Missing))}", {"here": 3, "there": None}),
        ("length(Items)", 2),
        ("length(Missing)", None),
        ("Items[*].[Name, Id]", [["x", 1], [None, 2]]),
        ("Items[?Id == `2`] | [0].Id", 2),
        ("max(values(Missing))", None),
        ("not_null(Missing, Chart.c)", 2),
        ("Items == `[]`", False),
        ("contains(Missing, 'x')", None),
    ],
)
def test_a_missing_field_makes_a_missing_result(text: str, expected: object) -> None:
    assert compile_expression(text).read(DOCUMENT) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" | ".join(["[@, @, @, @, @][]"] * 10), "takes more than 50000 steps"),
        (" | ".join(["join('', [@, @, @, @, @])"] * 10), "yields more than 100000 values or characters"),
        (" | ".join(["[@, @]"] * 20) + " | to_string(@)", "to_string() takes a text, a number or a boolean"),
        ("[{a}, {a}] | [0] == [1]".replace("{a}", " | ".join(["[@, @]"] * 15)), "compares two lists or objects"),
        ("Items[*].abs(Name)", "abs() found string, expected number"),
        ("sum(Items)", "sum() found dict, expected array-number"),
        ("join(',', values(Chart))", "join() found int, expected array-string"),
    ],
)
def test_an_expression_takes_no_more_than_its_bounds(text: str, message: str) -> None:
    document = "x" * 10 if "join('', [" in text else DOCUMENT
    if "@][]" in text:
        document = [1, 2, 3]  # type: ignore[assignment]
    with pytest.raises(ExpressionError) as refused:
        compile_expression(text).read(document)
    assert message in str(refused.value)


def test_an_expression_takes_no_more_than_so_many_steps() -> None:
    with pytest.raises(ExpressionError, match="takes more than 50000 steps"):
        compile_expression("[*].[a, a, a, a, a, a, a, a, a, a]").read([{"a": 1}] * 40_000)


def test_a_text_over_the_bound_is_not_built() -> None:
    tracemalloc.start()
    with pytest.raises(ExpressionError, match="yields more than 100000 values or characters"):
        compile_expression("join(Text, Parts)").read({"Text": "x" * 50_000, "Parts": [""] * 1000})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000_000


@pytest.mark.parametrize(
    ("text", "is_null"),
    [
        ("Null", True),
        ("Chart.b", True),
        ("@.Chart.b", True),
        ("Missing", False),
        ("Chart.a", False),
        ("b.Chart", False),
    ],
)
def test_a_plain_path_tells_null_from_missing(text: str, *, is_null: bool) -> None:
    assert compile_expression(text).is_null(DOCUMENT) == is_null


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 41 + "a" + "]" * 41, "is nested more than 40 deep"),
        ("a" * 1001, "is longer than 1000 characters"),
        ("sums(a)", "there is no function sums()"),
        ("abs(a, b)", "abs() takes 1 argument(s), found 2"),
    ],
)
def test_an_expression_is_refused_when_it_is_compiled(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        compile_expression(text)
    assert str(refused.value) == message
