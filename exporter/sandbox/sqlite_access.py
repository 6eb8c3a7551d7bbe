"""Connections to SQLite that allow what a libSQL server allows, and report errors as it does."""

import re
import sqlite3
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
_DENIED: Final = frozenset(
    {
        sqlite3.SQLITE_ATTACH,
        sqlite3.SQLITE_ANALYZE,
        sqlite3.SQLITE_CREATE_TEMP_INDEX,
        sqlite3.SQLITE_CREATE_TEMP_TABLE,
        sqlite3.SQLITE_CREATE_TEMP_TRIGGER,
        sqlite3.SQLITE_CREATE_TEMP_VIEW,
    },
)
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
