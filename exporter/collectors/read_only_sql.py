"""Decides whether a user's SQL statement only reads."""

import re

from exporter.platform.api import sql_over_http
from exporter.platform.errors import BadAnswer, NotFound, Rejected, StatementError
from exporter.platform.operation import Caller

_COMMENT = r"--[^\n]*|/\*.*?(\*/|\Z)"
_QUOTED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]"""
_QUOTED_OR_COMMENT = re.compile(f"{_QUOTED}|{_COMMENT}", re.DOTALL)
_READING = re.compile(r"\s*(select|with|values|explain)\b", re.IGNORECASE)
# Keywords of statements that may write, also after WITH or EXPLAIN. The function `replace(…)` does not match.
_WRITING = re.compile(r"\b(insert|update|delete|replace|pragma)\b(?!\s*\()", re.IGNORECASE)
_MAY_WRITE = "the query must only read; it is not executed, because it may write"


def _without_quotes_and_comments(sql: str) -> str:
    return _QUOTED_OR_COMMENT.sub(lambda found: " " if found[0].startswith(("--", "/*")) else "''", sql)


def is_single(sql: str) -> bool:
    """Return whether an SQL text has semicolons only at the end, in comments or in quotes."""
    return ";" not in _without_quotes_and_comments(sql).rstrip().rstrip(";")


def looks_read_only(sql: str) -> bool:
    """Return whether a text is one statement, begins with a keyword of `_READING`, and has none of `_WRITING`."""
    bare = _without_quotes_and_comments(sql)
    return is_single(sql) and _READING.match(bare) is not None and _WRITING.search(bare) is None


class ReadOnlyCheck:
    """Checks that statements only read, and remembers the statements that a database has confirmed."""

    def __init__(self) -> None:
        # The database and the SQL of each confirmed statement.
        self._confirmed: set[tuple[str, str]] = set()

    async def require_read_only(self, caller: Caller, database: str, sql: str) -> None:
        """Ask a database whether a statement only reads, or accept a statement that was confirmed before.

        If the database cannot tell, the keywords of the statement decide.

        Raises:
            StatementError: the statement may write, or the text contains several statements.
            PlatformError: the call failed, for example because of a timeout.
        """
        if (database, sql) in self._confirmed:
            return
        if not is_single(sql):
            raise StatementError("the query must be a single statement")
        try:
            only_reads = await sql_over_http.is_readonly(caller, sql)
        except (Rejected, NotFound, StatementError, BadAnswer) as error:
            # The platform documents only `execute`. A database without `describe` may answer with any of these errors.
            if looks_read_only(sql):
                return
            raise StatementError(f"{_MAY_WRITE} ({error})") from None
        if not only_reads:
            raise StatementError(_MAY_WRITE)
        self._confirmed.add((database, sql))
