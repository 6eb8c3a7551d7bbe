"""Renders the HTML pages from templates."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from markupsafe import Markup

from exporter.assets.shipped import REPOSITORY
from exporter.explain.causes import Cause, moment
from exporter.untrusted.terminal import escape
from exporter.validation.types import format_duration
from exporter.web.url_fields import Json

if TYPE_CHECKING:
    from jinja2 import Environment

_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))
_LONGEST_TEXT = 300
_AFTER_A_PART = re.compile(r"(?<=[./:_])(?=[^./:_])")


def lapse(seconds: float) -> str:
    """Write a rounded duration: `4 ms`, `1.2 s`, `80 s`, `3 min`, `2 h`; a negative one is written as `0 s`."""
    # Below one and a half of a unit, the smaller unit is used: rounded to the larger one, 80 s would be shown as 1 min.
    for unit, symbol in _UNITS:
        if seconds >= 1.5 * unit:
            return f"{seconds / unit:.0f} {symbol}"
    return f"{seconds * 1000:.0f} ms" if 0 < seconds < 1 else f"{max(0.0, seconds):.2g} s"


def figure(number: float) -> str:
    """Write a number with separated thousands, and at most 15 digits, as a float keeps: `1,234`, `0.25`, `2e+15`."""
    return f"{number:,.15g}"


def plural(number: int, noun: str) -> str:
    """Write a count with its noun: `1 target`, `65 targets`."""
    return f"{figure(number)} {noun}{'' if number == 1 else 's'}"


def plain(value: str) -> str:
    """Shorten a text, and escape characters that are invisible or change the direction of text."""
    return escape(value if len(value) <= _LONGEST_TEXT else value[: _LONGEST_TEXT - 1] + "…")


def untrusted(value: str) -> Markup:
    """Write a text as HTML: shortened, escaped, and without effect on the direction of the texts around it.

    A browser may break the line after a part of a name or an id, such as `dns_zone/`.
    """
    pieces = _AFTER_A_PART.split(plain(value))
    return Markup("<bdi>{}</bdi>").format(Markup("<wbr>").join(pieces))


def to_targets(query: Mapping[str, object] | None = None, **changes: object) -> str:
    """Return a link on the status page to the targets that a query selects after these changes of the query.

    Empty values are left out. The link leads to the first page of targets, or to the `offset` in the changes.
    """
    values = {**(query or {}), "offset": 0, **changes}
    encoded = urlencode({name: value for name, value in values.items() if value}, doseq=True)
    return f"./?{encoded}#targets" if encoded else "./#targets"


_FILTERS = (figure, format_duration, lapse, moment, plain, plural, untrusted)
_GLOBALS = {"HAS_NONE": Cause.PLATFORM_HAS_NONE.words, "repository": REPOSITORY, "to_targets": to_targets}


@lru_cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only pages need it

    environment = Environment(
        loader=PackageLoader("exporter.web.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {function.__name__: function for function in _FILTERS}
    environment.globals |= _GLOBALS
    return environment


def render(template: str, values: Json) -> str:
    """Render a template; texts that are not `Markup` are escaped.

    `values` may contain `root`, the prefix of links to other pages and files, such as `../../`; empty by default.
    """
    return _environment().get_template(template).render({"root": "", **values})
