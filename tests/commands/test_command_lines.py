"""What commands refuse, and completions: `command_lines.txt`, in the form of `tests.commands.transcript`.

`TAKEN` is a port on which something listens and never answers.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.conftest import UnusedAddress
from tests.commands.transcript import assert_cases, printed
from tests.settings.configurations import ENOUGH

COMMAND_LINES = Path(__file__).with_name("command_lines.txt")


def test_what_is_refused_is_said_in_few_words_without_a_call(
    unused_address: UnusedAddress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    port = str(unused_address.port)

    def told(case: str) -> Iterator[str]:
        # The file of this name has an account of its own.
        lines = printed(case.replace("TAKEN", port), {} if "config.yml" in case else ENOUGH)
        assert "s3" not in str(lines)
        yield from (line.replace(port, "TAKEN") for line in lines)

    assert_cases(COMMAND_LINES, told)
    assert not unused_address.is_called()
