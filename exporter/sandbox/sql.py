"""Splits SQL text into statements, and finds their parameters."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from exporter.sandbox.sqlite_access import SqlError

_TOKEN: Final = re.compile(
    r"""
      (?P<skip>   \s++ | --[^\n]*+ | /\*.*?(?:\*/|\Z) )
    | (?P<quoted> '(?:[^']++|'')*+'? | "(?:[^"]++|"")*+"? | `(?:[^`]++|``)*+`? | \[[^\]]*+\]? )
    | (?P<parameter> \?\d*+ | [:@$]\w++ )
    | (?P<word>   [^\W\d][\w$]*+ )
    | (?P<number> \d[\w.]*+ )
    | (?P<semicolon> ; )
    | (?P<other>  . )
    """,
    re.VERBOSE | re.DOTALL,
)
_EXPLAIN: Final = re.compile(r"^(?:\s|--[^\n]*\n|/\*.*?\*/)*EXPLAIN(?:\s+QUERY\s+PLAN)?\b", re.IGNORECASE | re.DOTALL)
_VERBS: Final = frozenset({"SELECT", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE"})
_PREFIXES: Final = (":", "@", "$")
_MOST_PARAMETERS: Final = 32_766
_INVALID: Final = "ARGS_INVALID"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, and the names of its parameters in the order of their numbers; None for one without a name.

    `verb` is the first word, or in a statement that begins WITH the word after the common table expressions.
    """

    text: str
    numbered: str
    first_word: str
    verb: str
    parameters: tuple[str | None, ...]

    @property
    def is_explain(self) -> bool:
        """Whether the statement is an EXPLAIN."""
        return self.first_word == "EXPLAIN"

    @property
    def without_parameters(self) -> str:
        """The statement with NULL in the place of every parameter."""
        return "".join(
            "NULL" if found.lastgroup == "parameter" else found[0] for found in _TOKEN.finditer(self.numbered)
        )

    @property
    def changes_rows(self) -> bool:
        """Whether the statement counts the rows that it changed."""
        return self.inserts or self.verb in ("UPDATE", "DELETE")

    @property
    def inserts(self) -> bool:
        """Whether the statement is an INSERT or a REPLACE."""
        return self.verb in ("INSERT", "REPLACE")

    @property
    def explained(self) -> str:
        """The statement without its EXPLAIN."""
        return _EXPLAIN.sub("", self.numbered, count=1) if self.is_explain else self.numbered

    def bound(self, ordered: list[object]) -> tuple[str, list[object] | dict[str, object]]:
        """Return the text to execute, with the arguments in the form that sqlite3 accepts.

        The original text is used if possible, because a parameter in a result column gives that column its name.
        """
        names = [parameter for parameter in self.parameters if parameter is not None]
        if not names:
            return self.text, ordered
        plain = [name[1:] for name in names]
        is_named = len(names) == len(ordered) == len(set(plain)) and all(name[:1] in _PREFIXES for name in names)
        return (self.text, dict(zip(plain, ordered, strict=True))) if is_named else (self.numbered, ordered)

    def arguments(self, positional: Sequence[object], named: Mapping[str, object]) -> list[object]:
        """Put arguments in the order of the parameters' numbers.

        Raises:
            SqlError: an argument is missing, or there is one too many.
        """
        if positional and named:
            raise SqlError("positional and named arguments cannot be mixed", "ARGS_BOTH_POSITIONAL_AND_NAMED")
        if len(positional) > len(self.parameters):
            raise SqlError(f"{len(positional)} arguments were given for {len(self.parameters)} parameters", _INVALID)
        known = {name for parameter in self.parameters if parameter is not None for name in (parameter, parameter[1:])}
        unknown = sorted(set(named) - known)
        if unknown:
            raise SqlError(f"there is no parameter {unknown[0]}", _INVALID)
        ordered = []
        for place, parameter in enumerate(self.parameters):
            if place < len(positional) and (parameter is None or parameter[:1] not in _PREFIXES):
                ordered.append(positional[place])
            elif parameter is not None and parameter in named:
                ordered.append(named[parameter])
            elif parameter is not None and parameter[:1] in _PREFIXES and parameter[1:] in named:
                ordered.append(named[parameter[1:]])
            else:
                raise SqlError(f"value for parameter {parameter or place + 1} not found", _INVALID)
        return ordered


class _Reader:
    """Collects the tokens of one statement."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.numbered: list[str] = []
        self.parameters: list[str | None] = []
        self._first: str | None = None
        self._verb = ""
        self._depth = 0

    def take(self, kind: str, token: str) -> None:
        self.text.append(token)
        self.numbered.append(f"?{self._number(token)}" if kind == "parameter" else token)
        if kind == "skip":
            return
        if self._first is None:
            self._first = token.upper() if kind == "word" else ""
        if not self._verb and self._depth == 0 and token.upper() in _VERBS:
            self._verb = token.upper()
        self._depth += {"(": 1, ")": -1}.get(token, 0)

    def is_complete(self) -> bool:
        """Return whether a semicolon now would end the statement; in a trigger, not every one does."""
        try:
            return sqlite3.complete_statement("".join(self.text) + ";")
        except ValueError:
            # The text contains a NUL, which SQLite refuses later.
            return True

    def statement(self) -> Statement | None:
        if self._first is None:
            return None
        verb = self._verb if self._first == "WITH" else self._first
        return Statement("".join(self.text), "".join(self.numbered), self._first, verb, tuple(self.parameters))

    def _number(self, token: str) -> int:
        if token == "?":  # noqa: S105 - a token of SQL, no secret
            self.parameters.append(None)
            return len(self.parameters)
        if token[0] == "?":
            number = int(token[1:])
            if not 1 <= number <= _MOST_PARAMETERS:
                message = f"SQL input error: variable number must be between ?1 and ?{_MOST_PARAMETERS}"
                raise SqlError(message, "SQL_INPUT_ERROR")
            self.parameters.extend([None] * (number - len(self.parameters)))
            self.parameters[number - 1] = self.parameters[number - 1] or token
            return number
        if token not in self.parameters:
            self.parameters.append(token)
        return self.parameters.index(token) + 1


def split(text: str) -> list[Statement]:
    """Split SQL text into its statements, without empty ones.

    Raises:
        SqlError: a parameter's number is out of range.
    """
    statements = []
    reader = _Reader()
    for found in _TOKEN.finditer(text):
        if found.lastgroup == "semicolon" and reader.is_complete():
            statements.append(reader.statement())
            reader = _Reader()
        else:
            reader.take(found.lastgroup or "other", found[0])
    statements.append(reader.statement())
    return [statement for statement in statements if statement is not None]
