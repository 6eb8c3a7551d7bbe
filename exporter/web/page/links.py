"""Links between the pages, relative, so that they work under any prefix and behind any proxy."""

from urllib.parse import urlencode

from exporter.web.target_query import Query

PAGE_ROWS = 100
# Failing targets come first.
PAGE_SORT = "state"


def to_targets(query: Query) -> str:
    """Link to the status page with the answer to a query in view."""
    asked = query.encoded(PAGE_ROWS, PAGE_SORT)
    return f"./?{asked}#targets" if asked else "./#targets"


def to_explanation(account: str, target: str) -> str:
    """Link to the page that names the absent families of a target and their causes."""
    return "explain?" + urlencode([("target", target), ("account", account)], errors="replace")


def asking(**wanted: object) -> Query:
    """Make a query of the page's default size and order."""
    return Query(limit=PAGE_ROWS, sort=PAGE_SORT).but(**wanted)
