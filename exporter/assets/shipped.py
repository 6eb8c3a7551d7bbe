"""Finds the shipped files, and applies an organisation's changes to them."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import exporter
from exporter.assets.alert_rules import RuleChangeError, parse_changes, render

REPOSITORY: Final = "https://github.com/edge-exporter/edge-exporter/blob/main"
_LINK_OUTWARD: Final = re.compile(r"\]\(\.\./")
_SEVERITY: Final = re.compile(r"[\w.:/-]+")
_INDEX: Final = "README.md"


class AssetError(Exception):
    """A shipped file is missing or a change is refused; the message says which, and what was expected."""


def find_folder(name: str) -> Path:
    """Find a shipped folder: inside the installed package, or next to the package in the repository.

    Args:
        name: `alertmanager`, `dashboards`, `endpoints`, `prometheus` or `runbooks`.

    Raises:
        AssetError: this installation does not contain it.
    """
    package = Path(exporter.__file__).parent
    repository = package.parent
    for folder in (package / "assets" / name, repository / "deploy" / name, repository / name):
        if folder.is_dir():
            return folder
    raise AssetError(f"this installation has no {name}: install the wheel, or run it from the repository")


def dashboards(assignments: Iterable[str]) -> dict[str, str]:
    """Return the Grafana dashboards: a file's name → its text.

    Raises:
        AssetError: assignments are given. Dashboards accept none: their variables choose data source, job and account.
    """
    for assignment in assignments:
        raise AssetError(f"{assignment}: nothing of the dashboards is set; their variables choose job and account")
    return _texts(find_folder("dashboards"), "*.json")


def endpoints(assignments: Iterable[str]) -> dict[str, str]:
    """Return the files of endpoints and their dashboard: a file's name → its text; raises AssetError for a change."""
    for assignment in assignments:
        raise AssetError(f"{assignment}: nothing of the endpoints is set")
    folder = find_folder("endpoints")
    return _texts(folder, "*.yml") | _texts(folder, "*.json")


def configuration(assignments: Iterable[str]) -> dict[str, str]:
    """Return the configuration file with every key: its name → its text; raises AssetError for a change."""
    for assignment in assignments:
        raise AssetError(f"{assignment}: nothing of the configuration is set; edit the file")
    return _texts(find_folder("endpoints").parent, "edge-exporter.yml")


def rules(assignments: Iterable[str]) -> dict[str, str]:
    """Return the changed alert and recording rules: a file's name → its text.

    Args:
        assignments: changes such as `severity.critical=page`; `parse_changes` describes them all.

    Raises:
        AssetError: a change is wrong.
    """
    try:
        return render(_shipped_rules(), parse_changes(assignments))
    except RuleChangeError as error:
        raise AssetError(str(error)) from error


def alertmanager(assignments: Iterable[str]) -> dict[str, str]:
    """Return the Alertmanager configuration, whose routes match new names of severities: a file's name → its text.

    Raises:
        AssetError: a change does not concern a severity of the rules.
    """
    severities = _severities(assignments, "the Alertmanager configuration")
    texts = _texts(find_folder("alertmanager"), "*.yml")
    return {name: _replaced(text, 'severity="{}"', severities) for name, text in texts.items()}


def runbooks(assignments: Iterable[str]) -> dict[str, str]:
    """Return the runbooks, whose index has the new names of severities: a page's name → its text.

    Links to other files of the repository become links to its website.

    Raises:
        AssetError: a change does not concern a severity of the rules.
    """
    severities = _severities(assignments, "the runbooks")
    pages = _texts(find_folder("runbooks"), "*.md")
    pages = {name: _LINK_OUTWARD.sub(f"]({REPOSITORY}/deploy/", text) for name, text in pages.items()}
    for form in ("`{}`", "| {} |"):
        pages[_INDEX] = _replaced(pages[_INDEX], form, severities)
    return pages


ASSETS: Final[Mapping[str, Callable[[Iterable[str]], dict[str, str]]]] = {
    "dashboards": dashboards,
    "rules": rules,
    "alertmanager": alertmanager,
    "runbooks": runbooks,
    "endpoints": endpoints,
    "configuration": configuration,
}


def _texts(folder: Path, pattern: str) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob(pattern))}


def _shipped_rules() -> dict[str, str]:
    return _texts(find_folder("prometheus") / "rules", "*.yml")


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
