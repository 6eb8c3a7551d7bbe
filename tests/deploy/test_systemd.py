import re
import shlex
import sys
from pathlib import Path

import pytest

from exporter.settings.flags import flags
from tests.deploy.files import DEPLOY, known_variables, named_variables, run, secret_files, settings_from

FOLDER = DEPLOY / "systemd"
UNIT = FOLDER / "edge-exporter.service"
DEFAULTS = FOLDER / "edge-exporter.default"
CONFIG = FOLDER / "config.yaml"
CREDENTIALS = "/run/credentials/edge-exporter.service/"


def _lines(*, commented: bool) -> dict[str, str]:
    """Return the assignments of the environment file, or the commented ones."""
    start = "#" if commented else ""
    return dict(re.findall(rf"^{start}(\w+)=(.*)$", DEFAULTS.read_text(), re.MULTILINE))


@pytest.mark.real
def test_systemd_accepts_the_unit_which_is_exposed_to_little(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    # A program that exists on this machine.
    unit.write_text(UNIT.read_text().replace("/opt/edge-exporter/bin/edge-exporter", sys.executable))
    done = run("systemd-analyze", "verify", str(unit))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = run("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=12", str(unit))
    assert done.returncode == 0, done.stdout.splitlines()[-1]


def test_the_environment_file_makes_settings_with_the_key_where_systemd_puts_it(tmp_path: Path) -> None:
    settings = settings_from(_lines(commented=False), tmp_path)
    assert [account.base_url for account in settings.accounts] == ["https://api.example.net"]
    assert named_variables(UNIT.read_text() + DEFAULTS.read_text()) - known_variables() == set()
    name, source = re.findall(r"^LoadCredential=([\w-]+):(.+)$", UNIT.read_text(), re.MULTILINE)[0]
    assert _lines(commented=False)["EDGE_EXPORTER_API_KEY_FILE"] == f"{CREDENTIALS}{name}"
    assert source == "/etc/edge-exporter/api-key"


def test_what_is_commented_out_shows_the_defaults() -> None:
    defaults = {flag.variable: flag.default for flag in flags()}
    shown = _lines(commented=True)
    assert {name: value for name, value in shown.items() if name in defaults} == {
        name: defaults[name] for name in shown if name in defaults
    }
    assert set(shown) - set(defaults) == {"EDGE_EXPORTER_CONFIG", "ARGS"}


def test_a_reload_before_the_program_listens_to_signals_does_not_end_it(tmp_path: Path) -> None:
    program = tmp_path / "edge-exporter"
    program.write_text('#!/bin/sh\nkill -HUP $$\necho "$@"\n')
    program.chmod(0o755)
    (line,) = re.findall(r"^ExecStart=(.+) \$ARGS$", UNIT.read_text(), re.MULTILINE)
    words = shlex.split(line.replace("/opt/edge-exporter/bin/edge-exporter", str(program)).replace("$$", "$"))
    done = run(*words, "--log.level=debug")
    assert (done.returncode, done.stdout) == (0, "run --log.level=debug\n")


def test_the_example_configuration_is_one(tmp_path: Path) -> None:
    settings = settings_from({"EDGE_EXPORTER_CONFIG": "x"}, tmp_path, config=CONFIG.read_text())
    assert [account.name for account in settings.accounts] == ["main", "lab"]
    assert [database.name for database in settings.databases] == ["orders"]
    assert all(name.startswith(CREDENTIALS) for name in secret_files(CONFIG.read_text()))
