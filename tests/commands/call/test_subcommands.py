"""How the command line lists, explains and completes the operations."""

import pytest

from exporter.commands.call.subcommands import CALLABLE
from tests.commands.shell import Ended, invoke


@pytest.mark.parametrize("name", list(CALLABLE))
def test_help_beside_an_operation_has_its_parameters(name: str) -> None:
    ended = invoke("call", name, "--help")
    missing = [one.name for one in CALLABLE[name].parameters if f"--{one.name} " not in ended.out]
    assert (missing, CALLABLE[name].path in ended.out, ended.err, ended.code) == ([], True, "", 0)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("call dns_r", "dns_record_scan\nThe latest record scan of a DNS zone."),
        ("call dns_statistics --dateF", "--dateFrom\nFirst moment of the window; used only with dateTo."),
        ("call shield_bot_category_action --action b", "block\n_"),
        ("call script_add_secret --Secret - --Na", "--Name\nThe secret's name."),
        ("call search --acc", "--account\nThe account to call; needed if there are several."),
    ],
)
def test_a_shell_is_offered_operations_and_parameters_with_their_meanings(typed: str, offered: str) -> None:
    asked = {"COMP_WORDS": f"edge-exporter {typed}", "COMP_CWORD": str(typed.count(" ") + 1)}
    ended = invoke(environ={"_EDGE_EXPORTER_COMPLETE": "zsh_complete", **asked})
    assert ended == Ended(f"plain\n{offered}\n", "", 0)
