"""What commands refuse, and in which words: `refusals.txt`, whose form `tests.commands.transcript` describes.

`TAKEN` is a port on which something listens and never answers.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.conftest import UnusedAddress
from tests.commands.transcript import assert_cases, printed
from tests.settings.configurations import ENOUGH

REFUSALS = Path(__file__).with_name("refusals.txt")


def test_what_is_refused_is_said_in_few_words_and_nothing_is_contacted(
    unused_address: UnusedAddress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    port = str(unused_address.port)

    def told(case: str) -> Iterator[str]:
        # The file of this name has an account of its own.
        lines = printed(case.replace("TAKEN", port), {} if "config.yml" in case else ENOUGH)
        assert "s3" not in str(lines)
        yield from (line.replace(port, "TAKEN") for line in lines)

    assert_cases(REFUSALS, told)
    assert not unused_address.is_called()
