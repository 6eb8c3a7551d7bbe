"""Decides whether a user's SQL statement only reads."""

import re

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


def leads_with_reading(sql: str) -> bool:
    """Return whether a statement begins with a keyword that reads, such as SELECT, and contains none that writes."""
    bare = _bare(sql)
    return _READING.match(bare) is not None and _WRITING.search(bare) is None
