"""Converts the shipped runbooks to HTML, so that an alert can be read where there is no internet."""

import re

from markdown_it import MarkdownIt
from markupsafe import Markup

from exporter.assets.shipped import shipped

_HEADING = re.compile(r"(</?h)([1-5])(?=>)")


def load_runbooks() -> dict[str, Markup]:
    """Convert the runbooks: the alert's name → HTML, `README` is the index; raises AssetError if none are installed."""
    converter = MarkdownIt("commonmark", {"html": False}).enable("table")
    return {name.removesuffix(".md"): _adapted(converter.render(text)) for name, text in shipped("runbooks").items()}


def _adapted(html: str) -> Markup:
    """Lower the headings by one rank, because the first one is in the page's head."""
    return Markup(_HEADING.sub(lambda found: f"{found[1]}{int(found[2]) + 1}", html))  # noqa: S704 - converted above
