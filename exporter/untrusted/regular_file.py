"""Reads regular files, and refuses other kinds of files: opening or reading a pipe or a device may never end."""

import os
import stat
from codecs import BOM_UTF8
from pathlib import Path

_KINDS = (
    (stat.S_ISDIR, "is a directory, expected a file"),
    (stat.S_ISFIFO, "is a pipe, such as '<(command)' makes; expected a regular file, which can be read again later"),
    (stat.S_ISSOCK, "is a socket, expected a regular file"),
    (stat.S_ISCHR, "is a device, expected a regular file"),
    (stat.S_ISBLK, "is a device, expected a regular file"),
)


class UnreadableError(ValueError):
    """A file cannot be read; the message is the path and `reason`."""

    def __init__(self, path: Path, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{path} {reason}")


def read_regular(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        UnreadableError: the file cannot be read, or is not a regular file.
    """
    try:
        _require_regular(path, path.stat())
        # Another file may have replaced the checked one. Open without blocking, and check the opened file, too.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY), "rb") as file:  # noqa: PTH123
            _require_regular(path, os.fstat(file.fileno()))
            return file.read()
    except UnreadableError:  # this class is a ValueError, too
        raise
    except (OSError, ValueError) as error:
        raise UnreadableError(path, _reason(error)) from None


def read_text(path: Path) -> str:
    """Return the text of a regular file in UTF-8, without a byte order mark.

    Raises:
        UnreadableError: the file cannot be read, is not a regular file, or is not UTF-8.
    """
    raw = read_regular(path).removeprefix(BOM_UTF8)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UnreadableError(path, f"is not UTF-8 text on line {line}") from None


def _reason(error: OSError | ValueError) -> str:
    match error:
        case ValueError():  # the name contains a NUL or a lone surrogate
            return "cannot be read: no file can have this name"
        case FileNotFoundError() | NotADirectoryError():
            return "does not exist"
        case PermissionError():
            return "cannot be read: permission denied"
        case _:  # `strerror` is None in errors that Python raises itself
            return f"cannot be read: {(error.strerror or 'input/output error').lower()}"


def _require_regular(path: Path, status: os.stat_result) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    reason = next((reason for is_kind, reason in _KINDS if is_kind(status.st_mode)), "is not a regular file")
    raise UnreadableError(path, reason)
