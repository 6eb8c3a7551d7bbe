"""Links of the page to itself, relative, so that they hold under any prefix and behind any proxy."""

from html import escape
from urllib.parse import urlencode

from exporter.web.target_query import Query

PAGE_ROWS = 100
# What fails comes first.
PAGE_SORT = "state"


def to_targets(query: Query) -> str:
    """The page with the answer to a query in view, escaped for an attribute."""
    asked = query.encoded(PAGE_ROWS, PAGE_SORT)
    return escape(f"./?{asked}#targets" if asked else "./#targets")


def to_explanation(account: str, target: str) -> str:
    """The page that says which families of a target are absent and why, escaped for an attribute."""
    return escape("explain?" + urlencode([("target", target), ("account", account)], errors="replace"))


def asking(**wanted: object) -> Query:
    """Make a query of the page's own size and order."""
    return Query(limit=PAGE_ROWS, sort=PAGE_SORT).but(**wanted)
