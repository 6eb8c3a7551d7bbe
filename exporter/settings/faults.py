"""What is wrong with a configuration: the fault, where it stands, and the error that carries all of them."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

KeyPath = tuple[str | int, ...]

_LONGEST_KEY_SHOWN = 60
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong, in words for the person who has to put it right.

    Attributes:
        source: The file, the variable or the flag that said it; empty where nothing did.
        line: The line in that file, from 1.
        path: Where in the configuration, as `accounts[0].timeout`; empty for the whole.
        message: What was found and what was expected; never a secret's value.
    """

    source: str
    line: int | None
    path: str
    message: str

    def __str__(self) -> str:
        """As one line: `config.yml:12: accounts[0].timeuot: unknown key; did you mean 'timeout'?`."""
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return ": ".join(part for part in (place, self.path, self.message) if part)


class ConfigurationError(Exception):
    """A configuration is refused, with every fault that it has."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))


def written(path: KeyPath) -> str:
    """The path as a person writes it: `accounts[0].scripts["my script"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif not _PLAIN_KEY.fullmatch(step):
            text += f"[{json.dumps(step[:_LONGEST_KEY_SHOWN], ensure_ascii=False)}]"
        else:
            text += f".{step}" if text else step
    return text


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """`; did you mean 'timeout'?`, or nothing where no known name is near."""
    near = get_close_matches(wrong, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""


def unknown_key(key: str, known: Iterable[str], *, deeper: str = "") -> str:
    """What is wrong with a key that is not known, with the one that may be meant.

    Args:
        key: the key.
        known: the keys that could stand in its place.
        deeper: the path of a key of this name that belongs further down; empty where there is none.
    """
    near = suggestion(key, known) or (f"; did you mean '{deeper}'?" if deeper else "")
    return f"unknown key{near}"
