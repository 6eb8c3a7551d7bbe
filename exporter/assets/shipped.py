"""Finds and reads the files that are shipped with the exporter."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import exporter

REPOSITORY: Final = "https://github.com/edge-exporter/edge-exporter/blob/main"
# A kind of files → a shipped folder, and the glob pattern of the files, relative to this folder.
ASSETS: Final[Mapping[str, tuple[str, str]]] = {
    "dashboards": ("dashboards", "*.json"),
    "rules": ("prometheus", "rules/*.yml"),
    "alertmanager": ("alertmanager", "*.yml"),
    "runbooks": ("runbooks", "*.md"),
    "endpoints": ("endpoints", "*.[yj]*"),
    "configuration": ("endpoints", "../edge-exporter.yml"),
}
_LINK_OUTWARD: Final = re.compile(r"\]\(\.\./")


class AssetError(Exception):
    """A shipped folder is missing, or the folder or a file that copies are written to cannot be used."""


def find_folder(name: str) -> Path:
    """Find a shipped folder, such as `runbooks`, in the installed package or in the repository.

    Raises:
        AssetError: neither of them contains the folder.
    """
    package = Path(exporter.__file__).parent
    repository = package.parent
    for folder in (package / "assets" / name, repository / "deploy" / name, repository / name):
        if folder.is_dir():
            return folder
    raise AssetError(f"the installation lacks the folder '{name}': install the wheel, or run it from the repository")


def read_assets(what: str) -> dict[str, str]:
    """Return name → text for a kind of files (`ASSETS`). Links from runbooks to other folders lead to the repository.

    Raises:
        AssetError: this installation does not contain the folder of the files.
    """
    folder, pattern = ASSETS[what]
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(find_folder(folder).glob(pattern))}
    if what == "runbooks":
        texts = {name: _LINK_OUTWARD.sub(f"]({REPOSITORY}/deploy/", text) for name, text in texts.items()}
    return texts
