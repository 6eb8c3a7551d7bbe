"""Adds to the rows of a table a text that names their subject, and a link to the subject's page.

Alerts and findings are about zones, scripts, rate limits, images and more, each with its own labels. The text has a
part for each thing that the labels of a row name.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from dashboards.generator import links
from dashboards.generator.page import Column

# Grafana's value for All in an address.
_ALL = "All"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the text: a word, and the value of the last of these labels that a row has."""

    word: str
    labels: tuple[str, ...]


PARTS = (
    Part("zone", ("zone_id", "domain")),
    Part("script", ("script_id", "script")),
    Part("shield zone", ("shield_zone_id", "pull_zone")),
    Part("rate limit", ("rate_limit_id", "rate_limit")),
    Part("image", ("image",)),
    Part("tag", ("tag",)),
    Part("of", ("image_namespace",)),
    Part("in", ("registry_id",)),
    Part("database", ("database",)),
    Part("query", ("query",)),
    Part("scan", ("status",)),
    Part("protection", ("protection",)),
    Part("engine", ("engine",)),
    Part("signal", ("signal",)),
    Part("action", ("action",)),
    Part("collector", ("collector",)),
    Part("target", ("target", "name")),
    Part("operation", ("operation",)),
    Part("family", ("family",)),
    Part("exporter", ("instance",)),
    Part("shard", ("shard",)),
    Part("shards", ("shards",)),
    Part("limit", ("limit",)),
    Part("short of", ("resource",)),
    Part("fault", ("fault",)),
)
AREAS = (
    ("dns", links.DNS),
    ("scripts", links.SCRIPTS),
    ("shield", links.SHIELD),
    ("database|containers", links.DATABASE),
    ("exporter", links.EXPORTER),
)
# The choices of the pages, and the labels that set them.
_CHOICES = (
    ("of_account", "account"),
    ("of_zone", "zone_id"),
    ("of_script", "script_id"),
    ("of_shield_zone", "shield_zone_id"),
    ("of_database", "database"),
)

# Columns that only links use: the page of a row's subject, and the values of the page's choices.
HIDDEN = tuple(Column(name, label=name, hidden=True) for name in ("page", *(name for name, _ in _CHOICES)))
LINK = "/d/${__data.fields.page}?${datasource:queryparam}&${__url_time_range}" + "".join(
    f"&var-{name.removeprefix('of_')}=${{__data.fields.{name}}}" for name, _ in _CHOICES
)
ABOUT = Column("About", label="about", link=LINK)


_EVERY = frozenset(label for part in PARTS for label in part.labels)


def about(expr: str, labels: AbstractSet[str] = _EVERY) -> str:
    """Add the label `about` to the results of a query, and the labels of the link to the subject's page.

    Args:
        expr: a query whose results have a label `area`, and labels of `PARTS`.
        labels: the labels of `PARTS` that a result can have.
    """
    parts = [part for part in PARTS if not labels.isdisjoint(part.labels)]
    for number, part in enumerate(parts):
        for label in part.labels:
            expr = _replaced(expr, f"part_{number}", f" · {part.word} $1", label)
    joined = ", ".join(f'"part_{number}"' for number in range(len(parts)))
    expr = f'label_join({expr}, "about", "", {joined})'
    # `subject` is `about` without the separator at its beginning or, without any part, the row's account.
    expr = _replaced(expr, "subject", "account $1", "account")
    expr = _replaced(expr, "subject", "$1", "about", " · (.+)")
    expr = _replaced(expr, "about", "$1", "subject")
    for area, page in AREAS:
        expr = _replaced(expr, "page", page, "area", area)
    expr = _replaced(expr, "page", links.ZONE, "zone_id", ".+")
    for choice, label in _CHOICES:
        # All, unless the row has the label.
        expr = _replaced(expr, choice, _ALL, label, ".*")
        expr = _replaced(expr, choice, "$1", label)
    return expr


def _replaced(expr: str, label: str, text: str, source: str, pattern: str = "(.+)") -> str:
    return f'label_replace({expr}, "{label}", "{text}", "{source}", "{pattern}")'
