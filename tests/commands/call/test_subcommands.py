"""How the command line explains the operations; `command_lines.txt` has how it completes them."""

import pytest

from exporter.commands.call.subcommands import CALLABLE
from tests.commands.shell import invoke


@pytest.mark.parametrize("name", list(CALLABLE))
def test_help_beside_an_operation_has_its_parameters(name: str) -> None:
    ended = invoke("call", name, "--help")
    missing = [one.name for one in CALLABLE[name].parameters if f"--{one.name} " not in ended.out]
    assert (missing, CALLABLE[name].path in ended.out, ended.err, ended.code) == ([], True, "", 0)
