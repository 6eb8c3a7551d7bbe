"""Splits SQL text into statements, and finds their parameters."""

import re
from dataclasses import dataclass
from typing import Final

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
_TRIGGER_WORDS: Final = 3


class ArgumentsError(ValueError):
    """The arguments do not fit the statement's parameters."""

    code = "ARGS_INVALID"


class MixedArgumentsError(ArgumentsError):
    """Arguments are given both by place and by name."""

    code = "ARGS_BOTH_POSITIONAL_AND_NAMED"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, and the names of its parameters in the order of their numbers (None: it has no name).

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
        """Return the text to execute, with the arguments in the form that sqlite3 takes for it.

        The original text is used where possible, because a column that is a parameter is named as in the text.
        """
        names = [parameter for parameter in self.parameters if parameter is not None]
        if not names:
            return self.text, ordered
        plain = [name[1:] for name in names]
        is_named = len(names) == len(ordered) == len(set(plain)) and all(name[:1] in _PREFIXES for name in names)
        return (self.text, dict(zip(plain, ordered, strict=True))) if is_named else (self.numbered, ordered)

    def arguments(self, positional: list[object], named: dict[str, object]) -> list[object]:
        """Put arguments in the order of the parameters' numbers.

        Raises:
            ArgumentsError: an argument is missing, or there is one too many.
        """
        if positional and named:
            raise MixedArgumentsError("positional and named arguments cannot be mixed")
        if len(positional) > len(self.parameters):
            raise ArgumentsError(f"{len(positional)} arguments were given for {len(self.parameters)} parameters")
        known = {name for parameter in self.parameters if parameter is not None for name in (parameter, parameter[1:])}
        unknown = sorted(set(named) - known)
        if unknown:
            raise ArgumentsError(f"there is no parameter {unknown[0]}")
        ordered = []
        for place, parameter in enumerate(self.parameters):
            if place < len(positional) and (parameter is None or parameter[:1] not in _PREFIXES):
                ordered.append(positional[place])
            elif parameter is not None and parameter in named:
                ordered.append(named[parameter])
            elif parameter is not None and parameter[:1] in _PREFIXES and parameter[1:] in named:
                ordered.append(named[parameter[1:]])
            else:
                raise ArgumentsError(f"value for parameter {parameter or place + 1} not found")
        return ordered


class _Reader:
    """Collects the tokens of one statement."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.numbered: list[str] = []
        self.words: list[str] = []
        self.parameters: list[str | None] = []
        self.last: tuple[str, str] = ("", "")
        self._verb = ""
        self._depth = 0

    def take(self, kind: str, token: str) -> None:
        self.text.append(token)
        self.numbered.append(f"?{self._number(token)}" if kind == "parameter" else token)
        if kind == "skip":
            return
        if kind == "word" and len(self.words) <= _TRIGGER_WORDS:
            self.words.append(token.upper())
        if not self._verb and self._depth == 0 and token.upper() in _VERBS:
            self._verb = token.upper()
        self._depth += {"(": 1, ")": -1}.get(token, 0)
        self.last = (self.last[1], token.upper())

    def is_complete(self) -> bool:
        """Return whether a semicolon now would end the statement; a trigger goes on until `; END`."""
        words = self.words[1:] if self.words[:1] == ["EXPLAIN"] else self.words
        is_trigger = words[:1] == ["CREATE"] and "TRIGGER" in words[1:_TRIGGER_WORDS]
        return not is_trigger or self.last == (";", "END")

    def statement(self) -> Statement | None:
        if self.last == ("", ""):
            return None
        first_word = self.words[0] if self.words else ""
        verb = self._verb if first_word == "WITH" else first_word
        return Statement("".join(self.text), "".join(self.numbered), first_word, verb, tuple(self.parameters))

    def _number(self, token: str) -> int:
        if token == "?":  # noqa: S105 - a token of SQL, no secret
            self.parameters.append(None)
            return len(self.parameters)
        if token[0] == "?":
            number = int(token[1:])
            if not 1 <= number <= _MOST_PARAMETERS:
                raise ArgumentsError(f"variable number must be between ?1 and ?{_MOST_PARAMETERS}")
            self.parameters.extend([None] * (number - len(self.parameters)))
            self.parameters[number - 1] = self.parameters[number - 1] or token
            return number
        if token not in self.parameters:
            self.parameters.append(token)
        return self.parameters.index(token) + 1


def split(text: str) -> list[Statement]:
    """Split SQL text into its statements, without empty ones.

    Raises:
        ArgumentsError: a parameter's number is out of range.
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
