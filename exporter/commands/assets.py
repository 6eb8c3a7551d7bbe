"""`assets`: writes the dashboards, alert rules, runbooks or configuration files of this version to a folder."""

from difflib import unified_diff
from pathlib import Path

import click

from exporter.assets.shipped import ASSETS, AssetError, read_assets
from exporter.commands.output.printing import complain, complaining, counted


def write(texts: dict[str, str], folder: Path, *, force: bool) -> tuple[int, dict[Path, str]]:
    """Write files, name → content, to a folder, which is created if it does not exist.

    With `force`, existing files that differ are replaced; otherwise they are kept. Return the number of files that were
    written, and path → differences of the files that were kept. Raises AssetError if a file or the folder cannot be
    read or written.
    """
    written_count = 0
    kept: dict[Path, str] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            path = folder / name
            # Read as bytes, because an edited file may not be UTF-8, and reading as text would change line breaks.
            found = path.read_bytes().decode(errors="replace") if path.exists() else None
            if found is None or (found != text and force):
                path.write_text(text, encoding="utf-8")
                written_count += 1
            elif found != text:
                lines = unified_diff(found.splitlines(), text.splitlines(), str(path), "this version", lineterm="")
                kept[path] = "\n".join(lines) or f"{path} differs only in its line breaks"
    except OSError as error:
        raise AssetError(f"{error.filename or folder}: {error.strerror}") from error
    return written_count, kept


@click.command("assets")
@click.argument("kind", type=click.Choice(tuple(ASSETS)))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace files that differ.")
def command(kind: str, folder: Path, *, force: bool) -> None:
    """Write the dashboards, alert rules, runbooks or configuration files of this version to a folder.

    \b
    edge-exporter assets dashboards /var/lib/grafana/dashboards
    edge-exporter assets rules /etc/prometheus/rules
    edge-exporter assets alertmanager /etc/alertmanager
    edge-exporter assets runbooks ./runbooks
    edge-exporter assets endpoints .          endpoint files, with their dashboard
    edge-exporter assets configuration .      edge-exporter.yml, with every key

    Without --force, an existing file that differs is kept, and the differences are shown.

    Exit codes: 0 all files are up to date; 1 a file cannot be read or written, or differs and is kept; 2 misuse.
    """  # noqa: D301 - click reads the \b
    with complaining(AssetError):
        texts = read_assets(kind)
        written_count, kept = write(texts, folder, force=force)
    same_count = len(texts) - written_count - len(kept)
    up_to_date = f"; up to date: {same_count}" if same_count else ""
    click.echo(f"{counted(written_count, 'file')} written to {folder}{up_to_date}")
    if kept:
        listed = "".join(f"\n  {path}" for path in kept)
        complain("\n".join([f"these files differ and are kept; --force replaces them:{listed}", *kept.values()]))
