"""Finds the shipped files, and applies an organisation's changes to them."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import exporter
from exporter.assets.alert_rules import AssetError, parse_changes, render

REPOSITORY: Final = "https://github.com/edge-exporter/edge-exporter/blob/main"
_LINK_OUTWARD: Final = re.compile(r"\]\(\.\./")
_SEVERITY: Final = re.compile(r"[\w.:/-]+")
_INDEX: Final = "README.md"


def find_folder(name: str) -> Path:
    """Find a shipped folder, such as `runbooks`: in the installed package, or next to it in the repository.

    Raises:
        AssetError: this installation does not contain it.
    """
    package = Path(exporter.__file__).parent
    repository = package.parent
    for folder in (package / "assets" / name, repository / "deploy" / name, repository / name):
        if folder.is_dir():
            return folder
    raise AssetError(f"this installation has no {name}: install the wheel, or run it from the repository")


def _plain(what: str, advice: str, *patterns: tuple[str, str]) -> Callable[[Iterable[str]], dict[str, str]]:
    """Return what reads the shipped files of (folder, pattern), in which nothing is changed: a name → its text."""

    def read(assignments: Iterable[str]) -> dict[str, str]:
        for assignment in assignments:
            raise AssetError(f"{assignment}: nothing of the {what} is set; {advice}")
        return {name: text for folder, glob in patterns for name, text in _texts(find_folder(folder), glob).items()}

    return read


def rules(assignments: Iterable[str]) -> dict[str, str]:
    """Return the alert and recording rules with changes such as `severity.critical=page`: a file's name → its text."""
    return render(_texts(find_folder("prometheus") / "rules", "*.yml"), parse_changes(assignments))


def alertmanager(assignments: Iterable[str]) -> dict[str, str]:
    """Return the Alertmanager configuration, whose routes match new names of severities: a file's name → its text."""
    severities = _severities(assignments, "the Alertmanager configuration")
    shipped = _texts(find_folder("alertmanager"), "*.yml").items()
    return {name: _replaced(text, 'severity="{}"', severities) for name, text in shipped}


def runbooks(assignments: Iterable[str]) -> dict[str, str]:
    """Return the runbooks, a page's name → its text; the index has severities' new names, links are to the website."""
    severities = _severities(assignments, "the runbooks")
    pages = _texts(find_folder("runbooks"), "*.md")
    pages = {name: _LINK_OUTWARD.sub(f"]({REPOSITORY}/deploy/", text) for name, text in pages.items()}
    for form in ("`{}`", "| {} |"):
        pages[_INDEX] = _replaced(pages[_INDEX], form, severities)
    return pages


# Each raises an AssetError if a change is wrong, or does not concern it.
ASSETS: Final[Mapping[str, Callable[[Iterable[str]], dict[str, str]]]] = {
    "dashboards": _plain("dashboards", "their variables choose job and account", ("dashboards", "*.json")),
    "rules": rules,
    "alertmanager": alertmanager,
    "runbooks": runbooks,
    "endpoints": _plain("endpoints", "edit the files", ("endpoints", "*.yml"), ("endpoints", "*.json")),
    "configuration": _plain("configuration", "edit the file", ("endpoints", "../edge-exporter.yml")),
}


def _texts(folder: Path, pattern: str) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob(pattern))}


def _severities(assignments: Iterable[str], what: str) -> Mapping[str, str]:
    """Return the new names of severities; refuse any other change."""
    given = tuple(assignments)
    for assignment in given:
        if not assignment.startswith("severity."):
            raise AssetError(f"{assignment}: only severity.NAME=NEW changes {what}")
    # Rendering the rules also refuses severities that do not exist.
    rules(given)
    severities = parse_changes(given).severities
    for name, new in severities.items():
        if not _SEVERITY.fullmatch(new):
            raise AssetError(f"severity.{name}: expected a name of letters, digits and ._:/-, not {new!r}")
    return severities


def _replaced(text: str, form: str, names: Mapping[str, str]) -> str:
    """Replace all names that match a pattern, in one pass, so that two names can be exchanged."""
    if not names:
        return text
    found = re.compile("|".join(re.escape(form.format(name)) for name in names))
    new = {form.format(name): form.format(value) for name, value in names.items()}
    return found.sub(lambda match: new[match[0]], text)
