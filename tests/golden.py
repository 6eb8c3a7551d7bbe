"""Golden files: committed text that a test compares with what the exporter shows; `WRITE_GOLDENS=1` writes them."""

import os
from difflib import unified_diff
from pathlib import Path

ROOT = Path(__file__).parents[1]
WRITE = "WRITE_GOLDENS"


def assert_golden(shown: str, path: Path) -> None:
    """Compare a text with a golden file, or write the file.

    Raises:
        AssertionError: they differ; the message names the file, shows the lines, and says how to write it.
    """
    if os.environ.get(WRITE):
        path.write_bytes(shown.encode())
    expected = path.read_bytes().decode() if path.exists() else ""
    if shown != expected:
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        lines = unified_diff(expected.splitlines(), shown.splitlines(), str(name), "what is shown", "", "", 0, "")
        reported = "\n".join(lines) or "they differ in the ends of their lines"
        raise AssertionError(
            f"{name} differs from what is shown; {WRITE}=1 writes it. Read the difference:\n{reported}"
        )
