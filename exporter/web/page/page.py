"""Renders the HTML pages from templates; they work without their script."""

import platform as python_platform
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from exporter.assets.shipped import REPOSITORY
from exporter.explain.cause import Cause, moment
from exporter.validation.types import format_duration
from exporter.web.page.wording import compact, figure, lapse, plain, plural, untrusted
from exporter.web.targets import LONGEST_SEARCH
from exporter.web.url_fields import Json

if TYPE_CHECKING:
    from jinja2 import Environment


def to_targets(query: Mapping[str, object] | None = None, **changes: object) -> str:
    """Return a link to the targets on the status page, for a query with these changes, from the first one on."""
    values = {**(query or {}), "offset": 0, **changes}
    asked = urlencode({name: value for name, value in values.items() if value}, doseq=True)
    return f"./?{asked}#targets" if asked else "./#targets"


_FILTERS = (compact, figure, format_duration, lapse, moment, plain, plural, untrusted)
_GLOBALS = {
    "LONGEST_SEARCH": LONGEST_SEARCH,
    "HAS_NONE": Cause.PLATFORM_HAS_NONE.words,
    "build": f"Python {python_platform.python_version()}, {python_platform.system()} {python_platform.machine()}",
    "repository": REPOSITORY,
    "to_targets": to_targets,
}


@lru_cache
def _environment() -> "Environment":
    """Return the templates, each of which is compiled once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only pages need it

    environment = Environment(
        loader=PackageLoader("exporter.web.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {shown.__name__: shown for shown in _FILTERS}
    environment.globals |= _GLOBALS
    return environment


def render(template: str, values: Json) -> str:
    """Render a template, which escapes every text that is not markup; the value `root` leads to the status page."""
    return _environment().get_template(template).render({"root": "", **values})
