"""Converts the shipped runbooks to HTML, so that an alert can be read where there is no internet."""

import re

from markdown_it import MarkdownIt
from markupsafe import Markup

from exporter.assets.shipped import runbooks

_HEADING = re.compile(r"(</?h)([1-5])(?=>)")


def load_runbooks() -> dict[str, Markup]:
    """Convert the runbooks: the alert's name → HTML; `README` is the index.

    Raises:
        AssetError: this installation contains no runbooks.
    """
    converter = MarkdownIt("commonmark", {"html": False}).enable("table")
    return {name.removesuffix(".md"): _lowered(converter.render(text)) for name, text in runbooks(()).items()}


def _lowered(html: str) -> Markup:
    """Lower the headings by one rank: the first one is the name of the program, in the page's head."""
    return Markup(_HEADING.sub(lambda found: f"{found[1]}{int(found[2]) + 1}", html))  # noqa: S704 - converted above
