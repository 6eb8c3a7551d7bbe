"""Certificates and keys as PEM texts, from files or from the web configuration itself."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from exporter.foreign.regular_file import read_regular, unreadable

# The capacity of a pipe, in bytes.
LARGEST_INLINE = 64 * 1024


class TlsFileError(Exception):
    """A file cannot be used; `key` is the configuration key that names it."""

    def __init__(self, key: str, message: str) -> None:
        self.key = key
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Pem:
    """A text in PEM form, from a file or from the configuration itself.

    Attributes:
        name: the configuration key that gives it.
        file: the file; None if the text is in the configuration.
        text: the text.
    """

    name: str
    file: Path | None
    text: str = field(repr=False)

    def __str__(self) -> str:
        return "the text" if self.file is None else str(self.file)

    def check(self, what: str) -> None:
        """Raise TlsFileError unless the text contains a block of this kind."""
        if f"{what}-----" not in self.text:
            raise TlsFileError(self.name, f"{self} holds no {what.lower()} in PEM form")
        if self.file is None and len(self.text) > LARGEST_INLINE:
            raise TlsFileError(self.name, f"{self} is over {LARGEST_INLINE // 1024} KiB long; put it into a file")

    @contextmanager
    def path(self) -> Iterator[str]:
        """Return a path from which OpenSSL can read the text once: a pipe, so that no key is written to a disk."""
        if self.file is not None:
            yield str(self.file)
            return
        reading, writing = os.pipe()
        try:
            with os.fdopen(writing, "w", encoding="ascii", errors="replace") as pipe:
                pipe.write(self.text)
            yield f"/dev/fd/{reading}"
        finally:
            os.close(reading)


def read_pem(key: str, path: Path | None, text: str | None) -> Pem:
    """Return the text of the file, or the text in the configuration if it names no file.

    Raises:
        TlsFileError: the file cannot be read.
    """
    if path is None:
        return Pem(key, None, text or "")
    name = f"{key}_file"
    try:
        return Pem(name, path, read_regular(path).decode("ascii", "replace"))
    except OSError as error:
        raise TlsFileError(name, f"{path} {unreadable(error)}") from None
