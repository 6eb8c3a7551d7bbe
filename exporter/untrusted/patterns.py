"""Regular expressions of users, matched in linear time by the engine of pydantic-core, Rust's `regex`.

Patterns of the configuration are matched against names from the platform. With Python's `re`, a match could take years:
for example, if the pattern is `(a+)+$`, and the name has sixty letters `a` and then a `b`.
"""

from dataclasses import dataclass, field

from pydantic_core import SchemaError, SchemaValidator, core_schema

# The number of spaces that the engine's report puts before a pattern of one line, and before the marks below it.
_INDENT = 4
# The beginning of an error → what to write instead.
_INSTEAD = {"look-around": "; combine simple patterns instead, such as those of include and exclude"}


class PatternError(ValueError):
    """A text is not a valid pattern; the message says why and, where known, what to write instead."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression. Creating one raises PatternError if the text is not valid."""

    pattern: str
    _part_validator: SchemaValidator = field(init=False, repr=False, compare=False)
    _whole_validator: SchemaValidator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_part_validator", _compiled(self.pattern))
        # The line break ends a comment, as in the pattern `(?x)a # c`. The added `(?x)` makes the engine skip it.
        object.__setattr__(self, "_whole_validator", _compiled(f"\\A(?:{self.pattern}(?x)\n)\\z"))

    def search(self, text: str) -> bool:
        """Return whether the pattern matches a part of the text."""
        return self._part_validator.isinstance_python(_without_surrogates(text))

    def fullmatch(self, text: str) -> bool:
        """Return whether the pattern matches the whole text."""
        return self._whole_validator.isinstance_python(_without_surrogates(text))


def _compiled(pattern: str) -> SchemaValidator:
    """Return a validator that accepts a text if the pattern matches a part of the text."""
    try:
        # The engine would accept a pattern with a lone surrogate, but no text would match the pattern.
        pattern.encode()
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except UnicodeEncodeError:
        raise PatternError("contains half of a surrogate pair") from None
    except SchemaError as error:
        raise PatternError(_reason(str(error))) from None


def _reason(report: str) -> str:
    """Return the fault from the engine's report as a part of a sentence; with the place, if the pattern has one line.

    Two reports, on the incomplete pattern `(a` and on a pattern that is too large, end with these lines::

            (a
            ^
        error: unclosed group

        SchemaError: Compiled regex exceeds size limit of 10485760 bytes.
    """
    *_, marks, last = report.splitlines()
    sentence = last.strip().removeprefix("SchemaError: ").removeprefix("error: ").rstrip(".")
    # The first character has the number 1.
    place = f", at character {marks.index('^') - _INDENT + 1}" if "^" in marks else ""
    first_words, _, _ = sentence.partition(",")
    return sentence[:1].lower() + sentence[1:] + place + _INSTEAD.get(first_words, "")


def _without_surrogates(text: str) -> str:
    """Replace lone surrogates: a text that contains one would match no pattern."""
    return text.encode("utf-8", "replace").decode()
