"""Writes the JSON of the dashboards, or checks that the files are what the code generates."""

from pathlib import Path

import click

from dashboards.generator import endpoints
from dashboards.generator.all_pages import PAGES
from dashboards.generator.grafana import generate


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; fail with the names of the files that differ.")
def main(*, check: bool) -> None:
    """Generate the Grafana dashboards; the working directory must be that of the repository."""
    wanted = {Path("dashboards") / f"{page.uid}.json": generate(page) for page in PAGES}
    wanted[endpoints.FOLDER / f"{endpoints.UID}.json"] = generate(endpoints.page())
    differing = [path for path in wanted if not path.is_file() or path.read_text(encoding="utf-8") != wanted[path]]
    if not check:
        for path in differing:
            path.write_text(wanted[path], encoding="utf-8")
        return
    for path in differing:
        click.echo(f"{path} is not what the code generates: run 'make generate'", err=True)
    if differing:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
