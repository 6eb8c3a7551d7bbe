"""What commands refuse, and in which words: `refusals.txt`, whose form `tests.commands.transcript` describes.

`TAKEN` is a port on which something listens and never answers.
"""

from pathlib import Path

import pytest

from tests.commands.conftest import UnusedAddress
from tests.commands.transcript import given, printed
from tests.golden import assert_golden
from tests.settings.configurations import ENOUGH

REFUSALS = Path(__file__).with_name("refusals.txt")


def test_what_is_refused_is_said_in_few_words_and_nothing_is_contacted(
    unused_address: UnusedAddress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    port, shown = str(unused_address.port), []
    for case in REFUSALS.read_text(encoding="utf-8").strip().split("\n\n"):
        # This file has an account of its own.
        environ = {} if "config.yml" in case else ENOUGH
        lines = printed(case.replace("TAKEN", port), environ)
        assert "s3" not in str(lines)
        shown.append("\n".join([*given(case), *(line.replace(port, "TAKEN") for line in lines)]))
    assert_golden("\n\n".join(shown) + "\n", REFUSALS)
    assert not unused_address.is_called()
