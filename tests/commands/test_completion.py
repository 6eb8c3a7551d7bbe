"""Completion in real shells."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.shell import PROGRAM, clean, invoke
from tests.real_parts import find
from tests.waiting import PATIENCE

# What a shell does with a typed line, up to the completions that it would offer.
BASH = """
compopt() { echo "compopt $1 $2"; }
source <(edge-exporter completion bash)
complete -p edge-exporter
COMP_WORDS=(%s)
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_edge_exporter_completion edge-exporter
printf '%%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
compdef() { :; }
compadd() { [[ $* == *completions* ]] && print -l -- $completions; }
_describe() { print -l -- "suffix[${@[-1]}]" $completions_with_descriptions; }
source <(edge-exporter completion zsh)
words=(%s) CURRENT=$#words
_edge_exporter_completion
"""
FISH = """
edge-exporter completion fish | source
complete -C '%s'
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return a search path that contains the program."""
    program = tmp_path / "edge-exporter"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m exporter "$@"\n')
    program.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def ask(shell: str, script: str, path: str) -> list[str]:
    """Return the output of a shell."""
    ended = subprocess.run(
        [find(shell), "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=clean({"PATH": path}),
        timeout=PATIENCE,
    )
    assert ended.stderr == ""
    return ended.stdout.splitlines()


@pytest.mark.real
def test_bash_completes_commands_operations_and_parameters(path: str) -> None:
    registered = "complete -o nosort -F _edge_exporter_completion edge-exporter"
    assert ask("bash", BASH % "edge-exporter ch", path) == [registered, "check"]
    assert ask("bash", BASH % "edge-exporter call script_", path) == [registered, "script_update", "script_add_secret"]
    assert ask("bash", BASH % "edge-exporter run --web.r", path) == [registered, "--web.route-prefix"]
    assert ask("bash", BASH % "edge-exporter completion ''", path) == [registered, "bash", "zsh", "fish"]


@pytest.mark.real
def test_bash_puts_no_blank_behind_the_equals_sign_of_a_parameter(path: str) -> None:
    _, *found = ask("bash", BASH % "edge-exporter call dns_statistics id = 5 ''", path)
    assert found == ["compopt -o nospace", "compopt -o nospace", "dateFrom=", "dateTo="]
    _, *found = ask("bash", BASH % "edge-exporter call shield_access_list_switch isEnabled = t", path)
    assert found == ["true"]


@pytest.mark.real
def test_zsh_completes_with_descriptions(path: str) -> None:
    found = ask("zsh", ZSH % "edge-exporter call dns_", path)
    assert found == [
        "suffix[ ]",
        "dns_statistics:Query statistics of a DNS zone, by default of the last 30 days.",
        "dns_record_scan:The latest record scan of a DNS zone.",
    ]
    found = ask("zsh", ZSH % "edge-exporter call dns_statistics id=5 ''", path)
    assert found == [
        "suffix[]",
        "dateFrom=:First moment of the window; used only with dateTo.",
        "dateTo=:Last moment of the window.",
    ]


@pytest.mark.real
def test_fish_completes_with_descriptions(path: str) -> None:
    assert ask("fish", FISH % "edge-exporter call dns_r", path) == [
        "dns_record_scan\tThe latest record scan of a DNS zone."
    ]
    assert ask("fish", FISH % "edge-exporter call shield_access_list_switch isEnabled=", path) == [
        "isEnabled=false",
        "isEnabled=true",
    ]


def test_a_shell_that_is_not_known_is_misuse() -> None:
    ended = invoke("completion", "tcsh")
    assert (ended.out, ended.code) == ("", 2)
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in ended.err


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("call script id=7 --account", ["plain,main", "plain,other"]),
        ("call sql --database", ["plain,orders"]),
        ("backfill --account", ["plain,main", "plain,other"]),
    ],
)
def test_names_of_the_configuration_file_are_completed(words: str, found: list[str], tmp_path: Path) -> None:
    config = tmp_path / "edge.yml"
    config.write_text("accounts: [{name: main}, {name: other}]\ndatabases: [{name: orders}]\n")
    line = f"edge-exporter {words} "
    asked = {
        "_EDGE_EXPORTER_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split())),
        "EDGE_EXPORTER_CONFIG": str(config),
    }
    ended = subprocess.run(PROGRAM, capture_output=True, text=True, check=True, env=clean(asked))
    assert (ended.stdout.splitlines(), ended.stderr) == (found, "")
