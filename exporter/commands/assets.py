"""`assets`: writes the dashboards, rules, Alertmanager configuration or runbooks that belong to this version."""

from pathlib import Path

import click

from exporter.assets.shipped import ASSETS, AssetError
from exporter.commands.output.help import Command
from exporter.commands.output.printing import MISUSE, complain, counted


def write(texts: dict[str, str], folder: Path, *, force: bool) -> str:
    """Write files into a folder, which is made where it does not exist.

    Args:
        texts: a file's name → its text.
        folder: where they go.
        force: whether files that are there with another text are replaced.

    Returns:
        A sentence on what was written.

    Raises:
        AssetError: a file is there with another text, or cannot be written. In the first case nothing is written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kept = {name for name in texts if (folder / name).is_file() and _read(folder / name) == texts[name]}
        if edited := [name for name in texts if name not in kept and (folder / name).exists()]:
            listed = "".join(f"\n  {folder / name}" for name in edited)
            if not force:
                raise AssetError(f"these files are there with another text; --force replaces them:{listed}")
        for name in texts.keys() - kept:
            (folder / name).write_text(texts[name], encoding="utf-8")
    except OSError as error:
        raise AssetError(f"{error.filename or folder}: {error.strerror}") from error
    unchanged = f"; up to date: {len(kept)}" if kept else ""
    return f"{counted(len(texts) - len(kept), 'file')} written to {folder}{unchanged}"


def _read(path: Path) -> str:
    return path.read_bytes().decode(errors="replace")


@click.command("assets", cls=Command)
@click.argument("what", type=click.Choice(tuple(ASSETS)))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change a value, once or more often. Rules: runbook_base=URL, job=REGEX, severity.NAME=NEW, label.NAME=VALUE, "
    "disabled=ALERT,ALERT and ALERT.FIELD=VALUE, where FIELD is for, keep_firing_for, severity, expr, label.NAME, "
    "annotation.NAME or threshold.NAME. Alertmanager and runbooks: severity.NAME=NEW.",
)
@click.option("--force", is_flag=True, help="Replace files that are there with another text.")
def command(what: str, folder: Path, assignments: tuple[str, ...], *, force: bool) -> None:
    """Write the dashboards, alert rules, Alertmanager configuration or runbooks of this version into a folder.

    \b
    edge-exporter assets dashboards /var/lib/grafana/dashboards
    edge-exporter assets rules /etc/prometheus/rules --set severity.critical=page
    edge-exporter assets alertmanager /etc/alertmanager --set severity.critical=page
    edge-exporter assets runbooks ./runbooks

    Exit codes: 0 the files are there; 1 a file cannot be written, or is there with another text; 2 a change is
    wrong.
    """  # noqa: D301 - click reads the \b
    try:
        texts = ASSETS[what](assignments)
    except AssetError as error:
        complain(str(error), MISUSE)
    try:
        click.echo(write(texts, folder, force=force))
    except AssetError as error:
        complain(str(error))
