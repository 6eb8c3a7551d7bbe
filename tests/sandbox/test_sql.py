import pytest

from exporter.sandbox.sql import split


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


@pytest.mark.parametrize(("text", "explains"), [("explain SELECT 1", True), ("/* EXPLAIN */ SELECT 1", False)])
def test_an_explanation_is_known_by_its_first_word(text: str, explains: bool) -> None:  # noqa: FBT001 - a literal case
    assert split(text)[0].is_explain is explains
