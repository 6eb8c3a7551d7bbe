import re
import sys
from pathlib import Path

import pytest

from tests.real_parts import PARTS, end_without, find


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole search path, with a Python that finds no other programs."""
    python = tmp_path / "alone" / "python"
    python.parent.mkdir()
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


def install(name: str, folder: Path) -> str:
    """Put a program into a folder; return its path."""
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_a_program_is_found_under_either_of_its_names(bin_folder: Path) -> None:
    assert find_or_skip("prometheus-alertmanager").startswith("prometheus-alertmanager is missing: apt-get install")
    assert install("alertmanager", bin_folder) == find("prometheus-alertmanager")


def test_a_program_whose_own_need_is_missing_is_skipped_with_the_command_that_installs_that(bin_folder: Path) -> None:
    path = install("podman-compose", bin_folder)
    assert re.fullmatch(r"podman is missing: apt-get install .*\bpodman\b.*", find_or_skip("podman-compose"))
    install("podman", bin_folder)
    assert find("podman-compose") == path


def test_in_ci_what_is_missing_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="it is missing: this installs it"):
        end_without("it", "this installs it")


def test_whatever_a_part_needs_is_a_part() -> None:
    assert {needed for part in PARTS.values() for needed in part.needs} <= PARTS.keys()


def find_or_skip(name: str) -> str:
    """Return why the test that needs a part is skipped."""
    with pytest.raises(pytest.skip.Exception) as skipped:
        find(name)
    return str(skipped.value)
