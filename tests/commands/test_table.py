"""Tables on terminals of any width."""

import pytest

from exporter.commands.output.table import lay_out


def test_a_table_becomes_paragraphs_only_where_it_does_not_fit() -> None:
    rows = [("x", "b" * 20), ("", "c"), ("y", "")]
    assert lay_out("AB", rows, 19, folded="B").splitlines()[1] == f"x  {'b' * 16}"
    # The widest column gives way first.
    assert lay_out("AB", [("a" * 20, "b" * 30)], 48, folded="AB").splitlines()[1] == f"{'a' * 20}  {'b' * 26}"
    assert lay_out("AB", rows, 18, folded="B").splitlines() == ["x", f"  {'b' * 16}", "  bbbb", "  c", "y"]


def test_a_wide_character_takes_two_columns() -> None:
    assert lay_out("AB", [("日本🚀", "x"), ("e\u0301", "y")], None).splitlines() == [
        "A       B",
        "日本🚀  x",
        "e\u0301       y",
    ]


def test_a_dumb_terminal_and_one_that_wants_no_colour_get_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[31mb" in lay_out("AB", [("a", "b")], 80, colours={"b": "red"})
    for variable, value in (("TERM", "dumb"), ("NO_COLOR", "1")):
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            assert "\x1b[3" not in lay_out("AB", [("a", "b")], 80, colours={"b": "red"})
