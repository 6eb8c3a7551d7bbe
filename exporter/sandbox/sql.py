"""SQL as a libSQL server takes it: its statements, their parameters, what is allowed, and its errors."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

_LONGEST_VALUE: Final = 16 * 1024 * 1024
# The PRAGMAs that a libSQL server supports; those of the second set only without an argument.
_FREE_PRAGMAS: Final = frozenset({
    "collation_list", "compile_options", "data_version", "database_list", "defer_foreign_keys", "encoding",
    "foreign_key_check", "foreign_key_list", "foreign_keys", "freelist_count", "function_list", "index_info",
    "index_list", "index_xinfo", "integrity_check", "module_list", "page_count", "pragma_list", "quick_check",
    "table_info", "table_list", "table_xinfo", "user_version",
})  # fmt: skip
_SHOWN_PRAGMAS: Final = frozenset({
    "analysis_limit", "application_id", "auto_vacuum", "automatic_index", "busy_timeout", "cache_size",
    "cache_spill", "cell_size_check", "checkpoint_fullfsync", "fullfsync", "hard_heap_limit", "journal_mode",
    "journal_size_limit", "legacy_alter_table", "locking_mode", "max_page_count", "mmap_size", "page_size",
    "query_only", "read_uncommitted", "recursive_triggers", "reverse_unordered_selects", "schema_version",
    "secure_delete", "soft_heap_limit", "synchronous", "temp_store", "threads", "trusted_schema",
    "wal_autocheckpoint",
})  # fmt: skip
_GENERAL: Final = frozenset({"SQLITE_ERROR", "SQLITE_SCHEMA"})
# Python refuses some texts and values before SQLite does: a NUL, or a number that is too large.
FAULTS: Final = (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError)
_DENIED: Final = frozenset({
    sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_ANALYZE, sqlite3.SQLITE_CREATE_TEMP_INDEX, sqlite3.SQLITE_CREATE_TEMP_TABLE,
    sqlite3.SQLITE_CREATE_TEMP_TRIGGER, sqlite3.SQLITE_CREATE_TEMP_VIEW,
})  # fmt: skip
# Messages of SQLite that a libSQL server reports when it parses a statement (first), or when it prepares one (second).
_SYNTAX: Final = re.compile(r'near "|incomplete input|unrecognized token')
_INPUT: Final = re.compile(
    r"no such (column|function)|ambiguous column|wrong number of arguments|misuse of|(table|view|index) .* exists"
)


class SqlError(Exception):
    """A request failed in the database; the requests after it still run."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self._code = code

    def answer(self) -> dict[str, str]:
        """Return the error as the protocol sends it."""
        return {"message": str(self), "code": self._code}


class ForbiddenError(Exception):
    """A request writes under a read-only token."""


def connect(path: str, *, read_only: bool) -> sqlite3.Connection:
    """Open a connection that can use its own database only."""
    connection = sqlite3.connect(
        f"file:{path}?mode={'ro' if read_only else 'rw'}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=0.5,
    )
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    return connection


def authorize(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
    """Decide whether SQLite may do something that a statement needs; called by SQLite."""
    if action in _DENIED:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA:
        name = (first or "").lower()
        is_known = name in _FREE_PRAGMAS or (name in _SHOWN_PRAGMAS and second is None)
        return sqlite3.SQLITE_OK if is_known else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() == "load_extension":
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def failure(error: Exception, sql: str) -> SqlError | ForbiddenError:
    """Translate an error of SQLite to the one that a libSQL server reports."""
    message, name = str(error), getattr(error, "sqlite_errorname", None) or ""
    if name.startswith("SQLITE_READONLY"):
        return ForbiddenError(message)
    if message in ("not authorized", "authorization denied"):
        return SqlError(f"SQL string could not be parsed: unsupported statement: {sql.strip()}", "SQL_PARSE_ERROR")
    if _SYNTAX.match(message):
        return SqlError(f"SQL string could not be parsed: {message}", "SQL_PARSE_ERROR")
    if not name or _INPUT.match(message):
        return SqlError(f"SQL input error: {message}", "SQL_INPUT_ERROR")
    # The name of the error without its details, such as SQLITE_CONSTRAINT; a general error has none.
    kind = "_".join(name.split("_")[:2])
    return SqlError(f"SQLite error: {message}", "SQLITE_UNKNOWN" if kind in _GENERAL else kind)


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

    `verb` is the first word; after `WITH`, the word that follows the common table expressions.
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


def split(text: str) -> list[Statement]:
    """Split SQL text into its statements, without empty ones.

    Raises:
        SqlError: a parameter's number is out of range.
    """
    statements: list[Statement | None] = []
    tokens: list[tuple[str, str]] = []
    for found in _TOKEN.finditer(text):
        if found.lastgroup == "semicolon" and _is_complete(tokens):
            statements.append(_statement(tokens))
            tokens = []
        else:
            tokens.append((found.lastgroup or "other", found[0]))
    return [statement for statement in (*statements, _statement(tokens)) if statement is not None]


def _is_complete(tokens: list[tuple[str, str]]) -> bool:
    """Return whether a semicolon now would end a statement; in a trigger, not every one does."""
    try:
        return sqlite3.complete_statement("".join(token for _, token in tokens) + ";")
    except ValueError:
        # The text contains a NUL, which SQLite refuses later.
        return True


def _statement(tokens: list[tuple[str, str]]) -> Statement | None:
    shown = [(kind, token) for kind, token in tokens if kind != "skip"]
    if not shown:
        return None
    parameters: list[str | None] = []
    numbered = [f"?{_number(token, parameters)}" if kind == "parameter" else token for kind, token in tokens]
    first = verb = shown[0][1].upper() if shown[0][0] == "word" else ""
    if first == "WITH":
        depths = accumulate({"(": 1, ")": -1}.get(token, 0) for _, token in shown)
        words = (token.upper() for (_, token), depth in zip(shown, depths, strict=True) if depth == 0)
        verb = next((word for word in words if word in _VERBS), "")
    return Statement("".join(token for _, token in tokens), "".join(numbered), first, verb, tuple(parameters))


def _number(token: str, parameters: list[str | None]) -> int:
    """Return the number of a parameter, and add it to those before unless it is one of them."""
    if token == "?":  # noqa: S105 - a token of SQL, no secret
        parameters.append(None)
        return len(parameters)
    if token[0] == "?":
        number = int(token[1:])
        if not 1 <= number <= _MOST_PARAMETERS:
            message = f"SQL input error: variable number must be between ?1 and ?{_MOST_PARAMETERS}"
            raise SqlError(message, "SQL_INPUT_ERROR")
        parameters.extend([None] * (number - len(parameters)))
        parameters[number - 1] = parameters[number - 1] or token
        return number
    if token not in parameters:
        parameters.append(token)
    return parameters.index(token) + 1
