"""`assets`: writes the dashboards, rules, runbooks and configuration files that belong to this version."""

from difflib import unified_diff
from hashlib import sha256
from pathlib import Path, PurePath

import click

from exporter.assets.shipped import ASSETS, AssetError, shipped
from exporter.commands.output.printing import complain, complaining, counted

# Comments for the digest that a written file begins with. JSON has none: a dashboard that differs counts as edited.
_COMMENTS = {".yml": "# {}\n", ".md": "<!-- {} -->\n"}


def write(texts: dict[str, str], folder: Path, *, force: bool) -> tuple[str, str]:
    """Write files, by their names, into a folder, which is made where it does not exist; edited files are kept.

    Returns:
        A sentence on what was written, and the differences of the edited files; empty without any.

    Raises:
        AssetError: a file cannot be written.
    """
    differences: dict[str, str] = {}
    written = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            path, new = folder / name, _stamped(name, text)
            found = path.read_bytes().decode(errors="replace") if path.exists() else None
            if found == new:
                continue
            head, _, rest = (found or "").partition("\n")
            if not force and found not in (None, text, _stamped(name, rest)):
                old = rest if "sha256" in head else found or ""
                lines = unified_diff(old.splitlines(), text.splitlines(), str(path), "this version", lineterm="")
                differences[name] = "\n".join(lines)
                continue
            path.write_text(new, encoding="utf-8")
            written += 1
    except OSError as error:
        raise AssetError(f"{error.filename or folder}: {error.strerror}") from error
    same = len(texts) - written - len(differences)
    sentence = f"{counted(written, 'file')} written to {folder}" + (f"; up to date: {same}" if same else "")
    if not differences:
        return sentence, ""
    listed = "".join(f"\n  {folder / name}" for name in differences)
    kept = f"these files were edited and are kept; --force replaces them:{listed}\n"
    return sentence, kept + "\n".join(differences.values())


def _stamped(name: str, text: str) -> str:
    """Return a text below a comment with its digest, where the kind of file has comments."""
    digest = sha256(text.encode()).hexdigest()
    stamp = f"written by edge-exporter assets, which replaces this file unless edited: sha256 {digest}"
    return _COMMENTS.get(PurePath(name).suffix, "").format(stamp) + text


@click.command("assets")
@click.argument("what", type=click.Choice(tuple(ASSETS)))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace files that were edited, too.")
def command(what: str, folder: Path, *, force: bool) -> None:
    """Write files of this version into a folder: those that `deploy/` and `dashboards/` of the repository hold.

    \b
    edge-exporter assets dashboards /var/lib/grafana/dashboards
    edge-exporter assets rules /etc/prometheus/rules
    edge-exporter assets alertmanager /etc/alertmanager
    edge-exporter assets runbooks ./runbooks
    edge-exporter assets endpoints .          files of endpoints, with their dashboard
    edge-exporter assets configuration .      edge-exporter.yml, with every key

    Files of an earlier version are replaced. Files that were edited are kept, and the differences are shown.

    Exit codes: 0 the files are there; 1 a file cannot be written, or was edited and is kept; 2 misuse.
    """  # noqa: D301 - click reads the \b
    with complaining(AssetError):
        sentence, kept = write(shipped(what), folder, force=force)
    click.echo(sentence)
    if kept:
        complain(kept)
