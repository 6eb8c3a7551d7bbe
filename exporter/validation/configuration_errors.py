"""Defines a fault of a configuration, the place of a fault, and the exception that contains the faults."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple

KeyPath = tuple[str | int, ...]

_LONGEST_KEY_SHOWN = 60
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


class Place(NamedTuple):
    """Where a value was set, or can be set.

    Attributes:
        source: a file, a variable or a flag; empty if none is known.
        line: the line in the file, counted from 1; None for a variable, a flag or a whole file.
    """

    source: str = ""
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


@dataclass(frozen=True, slots=True)
class ConfigurationFault:
    """A fault of a configuration; `path` is the faulty key, such as `accounts[0].timeout`, or empty without one."""

    message: str
    path: str = ""
    place: Place = field(default_factory=Place)

    def __str__(self) -> str:
        """Return a text such as `config.yml:12: accounts[0].timeuot: unknown key; did you mean 'timeout'?`."""
        return ": ".join(filter(None, (str(self.place), self.path, self.message)))


class ConfigurationError(Exception):
    """A configuration is refused; `faults` is sorted, without duplicates: faults with a line come first."""

    def __init__(self, faults: Iterable[ConfigurationFault]) -> None:
        once = dict.fromkeys(faults)
        self.faults = tuple(sorted(once, key=lambda fault: (fault.place.line is None, fault.place)))
        super().__init__("\n".join(map(str, self.faults)))


def format_keys(path: KeyPath) -> str:
    """Return a path as text, such as `accounts[0].scripts["my script"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif not _PLAIN_KEY.fullmatch(step):
            text += f"[{json.dumps(step[:_LONGEST_KEY_SHOWN], ensure_ascii=False)}]"
        else:
            text += f".{step}" if text else step
    return text


def suggestion(wrong: str, known: Iterable[str], similarity: float = 0.6) -> str:
    """Return a text such as `; did you mean 'timeout'?`; empty if no known name has this similarity (0 to 1)."""
    near = get_close_matches(wrong, list(known), n=1, cutoff=similarity)
    return f"; did you mean '{near[0]}'?" if near else ""
