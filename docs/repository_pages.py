"""Adds Markdown files outside of `docs/` to the site, so that no text is duplicated.

ProperDocs calls the functions whose names begin with `on_`. A relative link to a file that the site shows leads to the
file's place on the site; any other relative link leads to the file in the repository. A link to a missing file fails a
strict build.
"""

import logging
import posixpath
import re
from pathlib import Path
from typing import Final

from properdocs.config.defaults import ProperDocsConfig
from properdocs.structure.files import File, Files
from properdocs.structure.pages import Page

REPOSITORY: Final = Path(__file__).resolve().parents[1]
PAGES: Final = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "dashboards/README.md": "dashboards.md",
    "deploy/README.md": "deploy/index.md",
    "deploy/backfill.md": "deploy/backfill.md",
    "deploy/helm/edge-exporter/README.md": "deploy/helm.md",
    "deploy/large.md": "deploy/large.md",
    "deploy/rules.md": "deploy/rules.md",
    "deploy/state.md": "deploy/state.md",
    "deploy/runbooks/README.md": "runbooks/index.md",
}
_LINK: Final = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")
_FENCED: Final = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
_NAME: Final = re.compile(r"(?<=<code>)[^<]*(?=</code>)")
_CELL: Final = re.compile(r"<td.*?</td>", re.DOTALL)
_LOG: Final = logging.getLogger("properdocs.repository_pages")


def places() -> dict[str, str]:
    """Return file of the repository → its place on the site, for the files that the site shows."""
    runbooks = sorted((REPOSITORY / "deploy" / "runbooks").glob("Edge*.md"))
    pictures = sorted((REPOSITORY / "deploy" / "images").glob("*.png"))
    own = sorted((REPOSITORY / "docs").rglob("*.md"))
    return {
        **PAGES,
        **{f"deploy/runbooks/{page.name}": f"runbooks/{page.name}" for page in runbooks},
        **{f"deploy/images/{picture.name}": f"images/{picture.name}" for picture in pictures},
        **{f"docs/{(name := page.relative_to(REPOSITORY / 'docs').as_posix())}": name for page in own},
    }


def on_files(files: Files, config: ProperDocsConfig) -> Files:
    """Add the pages and pictures outside of docs/."""
    for source, place in places().items():
        if not source.startswith("docs/"):
            files.append(File.generated(config, place, abs_src_path=str(REPOSITORY / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: ProperDocsConfig, files: Files) -> str:  # noqa: ARG001 - ProperDocs passes it
    """Replace the relative links of a page by links to files of the site or of the repository."""
    shown = places()
    source = next(name for name, place in shown.items() if place == page.file.src_uri)

    def lead(link: re.Match[str]) -> str:
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[0]))
        if wanted in shown:
            return posixpath.relpath(shown[wanted], posixpath.dirname(page.file.src_uri) or ".")
        if not (REPOSITORY / wanted).exists():
            _LOG.warning("%s links %s, which does not exist", source, link[0])
        return f"{config.repo_url}/blob/main/{wanted}"

    parts = _FENCED.split(markdown)
    parts[::2] = [_LINK.sub(lead, prose) for prose in parts[::2]]
    return "".join(parts)


def on_page_content(html: str, page: Page, config: ProperDocsConfig, files: Files) -> str:  # noqa: ARG001 - ProperDocs passes them
    """Let names in tables break after their parts, so that the tables fit."""

    def breakable(name: re.Match[str]) -> str:
        return re.sub(r"(?<=\w)([_.\-/|,{]+)(?=\w)", r"\1<wbr>", name[0])

    return _CELL.sub(lambda cell: _NAME.sub(breakable, cell[0]), html)
