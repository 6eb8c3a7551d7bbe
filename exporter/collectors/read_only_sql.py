"""Decides whether a user's SQL statement only reads."""

import re

from exporter.platform.api import sql_over_http
from exporter.platform.errors import BadAnswer, NotFound, Rejected, StatementError
from exporter.platform.operation import Caller

_COMMENTS = re.compile(r"--[^\n]*|/\*.*?(\*/|\Z)", re.DOTALL)
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]""")
_READING = re.compile(r"\s*(select|with|values|explain)\b", re.IGNORECASE)
_TOKEN = re.compile(f"{_QUOTED.pattern}|{_COMMENTS.pattern}", re.DOTALL)
# The keywords of writing statements, which may follow WITH and EXPLAIN, too. `replace(…)` is a function.
_WRITING = re.compile(r"\b(insert|update|delete|replace|pragma)\b(?!\s*\()", re.IGNORECASE)


def _bare(sql: str) -> str:
    """Remove comments and quoted text from SQL; keywords and punctuation remain."""
    return _TOKEN.sub(lambda found: " " if found[0].startswith(("--", "/*")) else "''", sql)


def is_single(sql: str) -> bool:
    """Return whether a text is one SQL statement, with or without a semicolon at its end."""
    return ";" not in _bare(sql).rstrip().rstrip(";")


def looks_read_only(sql: str) -> bool:
    """Return whether a text is one statement, begins with a keyword such as SELECT, and has no keyword that writes."""
    bare = _bare(sql)
    return is_single(sql) and _READING.match(bare) is not None and _WRITING.search(bare) is None


class ReadOnlyCheck:
    """Checks that statements only read; remembers those that their database has confirmed."""

    def __init__(self) -> None:
        # The database and the SQL of each confirmed statement.
        self._confirmed: set[tuple[str, str]] = set()

    async def require(self, caller: Caller, database: str, sql: str) -> None:
        """Ask a database whether a statement only reads; if it does not say, look at the keywords.

        Raises:
            StatementError: the statement may write, or is not a single one.
            PlatformError: there is no usable answer.
        """
        if (database, sql) in self._confirmed:
            return
        if not is_single(sql):
            raise StatementError("the query must be a single statement")
        try:
            is_confirmed = only_reads = await sql_over_http.is_readonly(caller, sql)
        except (Rejected, NotFound, StatementError, BadAnswer):
            # Only `execute` is documented; a database without `describe` may refuse it with any error.
            is_confirmed, only_reads = False, looks_read_only(sql)
        if not only_reads:
            raise StatementError("the query must only read; it is not executed, because it may write")
        if is_confirmed:
            self._confirmed.add((database, sql))
