"""The paths of configured endpoints, which follow the account's base URL, and may contain an id and dates."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import unquote

from exporter.platform.operation import Scalar

LONGEST_PATH = 2000
MOST_DAYS_AGO = 3660  # ten years
_PLACEHOLDER = re.compile(r"\{(id|today|days_ago:(\d+))\}", re.ASCII)
_NOT_IN_A_PATH = re.compile(r"[\s\\#\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Path:
    """A path with placeholders, created by `parse_path`.

    Attributes:
        text: the text in the configuration.
        template: the path with fields, into which `str.format_map` puts the result of `parameters`.
        has_target_id: whether the path contains `{id}`.
        days_ago: the numbers N of the placeholders `{days_ago:N}`.
    """

    text: str
    template: str
    has_target_id: bool
    days_ago: tuple[int, ...]

    def canonical(self) -> str:
        """Return one text for paths that differ only in the order of the query parameters."""
        before_query, _, query = self.template.partition("?")
        return "&".join((before_query, *sorted(query.split("&"))))

    def parameters(self, target_id: str, now: datetime) -> Mapping[str, Scalar]:
        """Return the values for the fields of `template`, for a target at the time `now`; not percent-encoded."""
        dates = {f"days_ago_{days}": (now - timedelta(days=days)).date().isoformat() for days in self.days_ago}
        return {"id": target_id, "today": now.date().isoformat(), **dates}


def parse_path(text: str) -> Path:
    """Parse a path of the configuration.

    Raises:
        ValueError: the path cannot be used; the message says why.
    """
    before_query, _, _ = text.partition("?")
    if "://" in before_query or text.startswith("//"):
        raise ValueError("names a host; expected a path on the account's base_url, such as /pullzone/{id}")
    if not text.startswith("/"):
        raise ValueError("does not start with '/'; expected a path such as /pullzone/{id}")
    if len(text) > LONGEST_PATH:
        raise ValueError(f"has {len(text)} characters, expected at most {LONGEST_PATH}")
    if _NOT_IN_A_PATH.search(text):
        raise ValueError("contains blanks, '\\', '#' or control characters")
    if any(unquote(segment) in (".", "..") for segment in before_query.split("/")):
        raise ValueError("contains the segment '.' or '..', which leads to another path")
    without_placeholders = _PLACEHOLDER.sub("", text)
    if "{" in without_placeholders or "}" in without_placeholders:
        raise ValueError("contains an unknown placeholder; expected {id}, {today} or {days_ago:30}")
    days = tuple(int(found[2]) for found in _PLACEHOLDER.finditer(text) if found[2])
    if any(number > MOST_DAYS_AGO for number in days):
        raise ValueError(f"goes back more than {MOST_DAYS_AGO} days")
    return Path(text, _PLACEHOLDER.sub(_field, text), has_target_id="{id}" in text, days_ago=days)


def _field(placeholder: re.Match[str]) -> str:
    """Return the field of `Path.template` for a placeholder: `{days_ago:007}` becomes `{days_ago_7}`."""
    days = placeholder[2]
    return "{" + (f"days_ago_{int(days)}" if days else placeholder[1]) + "}"
