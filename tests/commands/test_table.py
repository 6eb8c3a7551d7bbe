"""Tables on terminals of any width."""

import pytest

from exporter.commands.output.table import lay_out


def test_columns_share_the_width_and_are_never_narrower_than_sixteen() -> None:
    rows = [("日本x", "b" * 20, "c" * 60)]
    for width, shares in ((None, (20, 60)), (90, (20, 60)), (60, (20, 31)), (40, (16, 16)), (10, (16, 16))):
        table = lay_out("ABC", rows, width, folded="BC").splitlines()
        assert table[1] == "  ".join(["日本x", "b" * shares[0], "c" * shares[1]]), width


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
