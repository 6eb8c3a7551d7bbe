"""The image's lock file: complete, with hashes, and without the address of an index."""

import re
import tomllib
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.deploy.files import REPOSITORY

PYPROJECT: Final = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
WANTED: Final = {
    "image.txt": PYPROJECT["project"]["dependencies"],
    "build.txt": PYPROJECT["build-system"]["requires"],
}
BY_LOCK = pytest.mark.parametrize("lock", sorted(WANTED))


def _entries(lock: str) -> list[str]:
    """Return the packages of a lock file, each with its hashes in one line."""
    text = (REPOSITORY / "requirements" / lock).read_text(encoding="utf-8")
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@BY_LOCK
def test_every_package_is_pinned_with_hashes_and_no_address(lock: str) -> None:
    loose = [
        entry
        for entry in _entries(lock)
        if not re.fullmatch(r"[\w-]+==\S+( ; [^#]+?)?(\s+--hash=sha256:[0-9a-f]{64})+", entry)
    ]
    assert loose == []
    assert "://" not in (REPOSITORY / "requirements" / lock).read_text(encoding="utf-8")


@BY_LOCK
def test_it_holds_a_fitting_version_of_every_dependency(lock: str) -> None:
    pinned = {entry.partition("==")[0]: Version(entry.partition("==")[2].split()[0]) for entry in _entries(lock)}
    wanted = {canonicalize_name(each.name): each.specifier for each in map(Requirement, WANTED[lock])}
    assert wanted
    assert {name: pinned.get(name) for name in wanted if name not in pinned or pinned[name] not in wanted[name]} == {}
