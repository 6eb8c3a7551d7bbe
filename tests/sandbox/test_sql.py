import pytest

from exporter.sandbox.sql import split
from exporter.sandbox.sqlite_access import SqlError


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        (" ;; -- nothing\n ; /* at all */", []),
        ("SELECT 1", ["SELECT 1"]),
        (
            "SELECT ';'; SELECT \";\" ; SELECT `;`; SELECT [;]",
            ["SELECT ';'", ' SELECT ";" ', " SELECT `;`", " SELECT [;]"],
        ),
        ("SELECT 1 -- ; \n; SELECT /* ; */ 2", ["SELECT 1 -- ; \n", " SELECT /* ; */ 2"]),
        ("SELECT 'it''s; fine'", ["SELECT 'it''s; fine'"]),
        ("SELECT '\0'; SELECT 2", ["SELECT '\0'", " SELECT 2"]),
        ("SELECT 'never ends; ", ["SELECT 'never ends; "]),
        (
            "CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE WHEN 1 THEN 2 END; DELETE FROM b; END; SELECT 1",
            [
                "CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE WHEN 1 THEN 2 END; DELETE FROM b; END",
                " SELECT 1",
            ],
        ),
    ],
)
def test_statements_end_at_the_semicolons_that_end_them(text: str, statements: list[str]) -> None:
    assert [statement.text for statement in split(text)] == statements


def test_parameters_are_numbered_as_sqlite_does() -> None:
    (statement,) = split("SELECT ?, :a, ?, @b, :a, ?7, $c, '?', \"?\"")
    assert statement.parameters == (None, ":a", None, "@b", None, None, "?7", "$c")
    assert statement.numbered == "SELECT ?1, ?2, ?3, ?4, ?2, ?7, ?8, '?', \"?\""
    assert statement.without_parameters == "SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, '?', \"?\""


def test_arguments_are_given_by_place_or_by_name_with_or_without_its_prefix() -> None:
    (numbered,) = split("SELECT ?, ?2")
    assert numbered.arguments([1, 2], {}) == [1, 2]
    (statement,) = split("SELECT :a, @b")
    assert statement.arguments([], {"a": 1, "@b": None}) == [1, None]


@pytest.mark.parametrize(
    ("positional", "named", "message"),
    [
        ([1, 2], {}, "value for parameter :a not found"),
        ([1, 2, 3], {}, "3 arguments were given for 2 parameters"),
        ([], {"a": 1, "c": 2}, "there is no parameter c"),
        ([], {"a": 1, ":b": 2}, "there is no parameter :b"),
        ([1], {"b": 2}, "cannot be mixed"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    positional: list[object],
    named: dict[str, object],
    message: str,
) -> None:
    (statement,) = split("SELECT :a, @b")
    with pytest.raises(SqlError, match=message):
        statement.arguments(positional, named)


@pytest.mark.parametrize("number", ["0", "32767", "99999999999"])
def test_a_parameters_number_has_bounds(number: str) -> None:
    with pytest.raises(SqlError, match="variable number must be between"):
        split(f"SELECT ?{number}")


@pytest.mark.parametrize(("text", "explains"), [("explain SELECT 1", True), ("/* EXPLAIN */ SELECT 1", False)])
def test_an_explanation_is_known_by_its_first_word(text: str, explains: bool) -> None:  # noqa: FBT001 - a literal case
    assert split(text)[0].is_explain is explains
