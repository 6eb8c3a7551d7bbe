"""Completion in real shells."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.shell import PROGRAM, clean
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


@pytest.mark.real
@pytest.mark.parametrize(
    ("shell", "line", "expected"),
    [
        ("bash", "edge-exporter ch", ["check"]),
        ("bash", "edge-exporter call script_", ["script_update", "script_add_secret"]),
        ("bash", "edge-exporter run --web.r", ["--web.route-prefix"]),
        ("bash", "edge-exporter completion ''", ["bash", "zsh", "fish"]),
        # No blank stands behind the equals sign of a parameter.
        ("bash", "edge-exporter call dns_statistics id = 5 ''",
         ["compopt -o nospace", "compopt -o nospace", "dateFrom=", "dateTo="]),
        ("bash", "edge-exporter call shield_access_list_switch isEnabled = t", ["true"]),
        ("zsh", "edge-exporter call dns_",
         ["suffix[ ]", "dns_statistics:Query statistics of a DNS zone, by default of the last 30 days.",
          "dns_record_scan:The latest record scan of a DNS zone."]),
        ("zsh", "edge-exporter call dns_statistics id=5 ''",
         ["suffix[]", "dateFrom=:First moment of the window; used only with dateTo.",
          "dateTo=:Last moment of the window."]),
        ("fish", "edge-exporter call dns_r", ["dns_record_scan\tThe latest record scan of a DNS zone."]),
        ("fish", "edge-exporter call shield_access_list_switch isEnabled=", ["isEnabled=false", "isEnabled=true"]),
    ],
)  # fmt: skip
def test_a_shell_completes(shell: str, line: str, expected: list[str], tmp_path: Path) -> None:
    program = tmp_path / "edge-exporter"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m exporter "$@"\n')
    program.chmod(0o755)
    environ = clean({"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    script = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell] % line
    words = [find(shell), "-c", script]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, env=environ, timeout=PATIENCE)
    registered = ["complete -o nosort -F _edge_exporter_completion edge-exporter"] if shell == "bash" else []
    assert (ended.stdout.splitlines(), ended.stderr) == (registered + expected, "")


@pytest.mark.parametrize(
    ("written", "offered"),
    [
        ("accounts: [{name: main}, {name: make}, {name: other}, {name: 5}, 6]", ["main", "make"]),
        ("accounts: main", []),
        ("", []),
        ("a: [", []),
    ],
)
def test_the_names_of_a_configuration_are_completed_and_a_wrong_one_is_silent(
    written: str, offered: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "edge.yml"
    file.write_text(written)
    asked = {"COMP_WORDS": "edge-exporter call --account ma", "COMP_CWORD": "3"}
    environ = clean({"_EDGE_EXPORTER_COMPLETE": "bash_complete", "EDGE_EXPORTER_CONFIG": str(file), **asked})
    ended = subprocess.run(PROGRAM, capture_output=True, text=True, check=False, env=environ, timeout=PATIENCE)
    assert ([line.partition(",")[2] for line in ended.stdout.split()], ended.stderr) == (offered, "")
