"""Regular expressions of the configuration, matched in linear time with RE2.

Names come from the platform. With a pattern such as `(a+)+$` and a certain name, Python's own engine would run for
years. RE2 is the engine of Prometheus, so that patterns have the same meaning here.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import re2

# Syntax of Python's engine that RE2 does not have, and its replacement.
_UNSUPPORTED = (
    (r"\(\?<?[=!]", "lookaround", "match less and remove the rest, for example with exclude in addition to include"),
    (r"\\[1-9]|\(\?P=", "backreference", "write the repeated text itself"),
    (r"\\Z", "'\\Z'", "write '\\z' or '$' for the end of the text"),
    (r"\(\?>|[*+?}]\+", "atomic group or possessive quantifier", "write a plain one, which is as fast here"),
    (r"\\[uUN]", "'\\u' escape", "write the character itself"),
    (r"\(\?\(|\(\?#|\(\?[aLux]", "comment, condition or flag of Python's engine", "leave it out"),
)
# Python's engine reads this as {0,n}, and RE2 reads it as plain text.
_OPEN_REPETITION = re.compile(r"(?<!\\)\{,\d+\}")


class PatternError(ValueError):
    """A text is not a pattern; the message says why and, where known, what to write."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression of RE2's syntax; raises PatternError if the text is none."""

    pattern: str
    _compiled: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_compiled", _compiled(self.pattern))

    def search(self, text: str) -> bool:
        """Return whether it matches any part of the text."""
        return self._compiled.search(text.encode("utf-8", "replace")) is not None

    def fullmatch(self, text: str) -> bool:
        """Return whether it matches the whole text."""
        return self._compiled.fullmatch(text.encode("utf-8", "replace")) is not None


def _compiled(pattern: str) -> Any:  # noqa: ANN401 - the library has no types
    options = re2.Options()
    options.log_errors = False
    if found := _OPEN_REPETITION.search(pattern):
        raise PatternError(f"'{found[0]}' means nothing in RE2; write '{{0{found[0][1:]}'")
    try:
        # Match bytes of UTF-8; only the position of a match would need characters, and it is not used.
        return re2.compile(pattern.encode(), options)
    except UnicodeEncodeError:
        raise PatternError("holds half of a character") from None
    except re2.error as error:
        raise PatternError(_reason(pattern, error)) from None


def _reason(pattern: str, error: Exception) -> str:
    said = error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else str(error)
    for written, name, advice in _UNSUPPORTED:
        found = re.search(written, pattern)
        if found is not None:
            return f"RE2, the engine of Prometheus, has no {name} ('{found[0]}'); {advice}"
    if said.startswith("invalid repetition size"):
        return f"{said}: RE2 repeats at most 1000 times, nested repetitions multiplied"
    return said
