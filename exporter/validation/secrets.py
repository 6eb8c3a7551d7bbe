"""Reads and validates secrets and the files that hold them."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, SecretStr
from pydantic_core import InitErrorDetails

from exporter.foreign.regular_file import read_regular, unreadable
from exporter.validation.section import at, refused
from exporter.validation.types import Metavar, parse_path

_LARGEST_FILE = 65_536
_SHORTEST_KEY = 24
# What only names of files look like. A short one may be anything but has none of the marks of an address or of base64;
# a long one consists of words, with a folder or a suffix, because keys and tokens mix cases and digits.
_SHORT_NAME = re.compile(r"[\w ,./~-]*")
_WORD = r"(?:[A-Z]?[a-z]{1,16}[0-9]{0,2}|[A-Z]{1,16}|[0-9]{1,8})"
_LONG_NAME = re.compile(rf"(?=.*[./])[./_-]*{_WORD}(?:[./_-]+{_WORD})*")
_NO_HEADER_VALUE = re.compile(r"[^\x20-\x7e]")
# Quotes that come from a shell or an environment file by mistake; no platform issues a key with quotes.
_QUOTED = re.compile(r"""(["']).*\1""")
_NO_HEADER = "a line break or another character that an HTTP header cannot carry"


class SecretFileError(Exception):
    """The file of a secret cannot be used; the message names the file and never its content."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"{path} {problem}")


def read_secret(path: Path) -> SecretStr:
    """Read the secret from a file, without white space around it; raises SecretFileError if it cannot be used."""
    try:
        raw = read_regular(path, _LARGEST_FILE + 1)
    except OSError as error:
        raise SecretFileError(path, unreadable(error)) from None
    if len(raw) > _LARGEST_FILE:
        raise SecretFileError(path, "is too large to be a secret")
    try:
        text = raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise SecretFileError(path, "is not UTF-8 text") from None
    if problem := _problem(text):
        raise SecretFileError(path, problem)
    return SecretStr(text)


def _problem(text: str) -> str:
    """Return why a text cannot be sent as a secret; empty if it can."""
    if not text:
        return "is empty"
    if _NO_HEADER_VALUE.search(text):
        return f"contains {_NO_HEADER}"
    return "has quotes around the secret, which would be sent with it" if _QUOTED.fullmatch(text) else ""


def parse_secret(value: object) -> SecretStr | None:
    """Validate a secret that is written in the configuration itself."""
    if value is None:
        return None
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    if not isinstance(text, str):
        raise refused("expected text")
    if problem := _problem(text.strip()):
        raise refused(problem)
    return SecretStr(text.strip())


def parse_secret_file(value: object) -> Path | None:
    """Validate the name of a file, which must hold a usable secret."""
    if value is None:
        return None
    path = parse_path(value)
    try:
        read_secret(path)
    except SecretFileError as error:
        hidden = "is not the name of a file, and may be the secret itself, so it is not shown"
        raise refused(str(error) if _is_name(path) else hidden) from None
    return path


def _is_name(path: Path) -> bool:
    """Return whether a path can be shown: what of it does not exist looks like names, and not like a secret."""
    existing = next((part for part in (path, *path.parents) if os.path.lexists(part)), Path())
    absent = str(path.relative_to(existing))
    return bool((_SHORT_NAME if len(absent) < _SHORTEST_KEY else _LONG_NAME).fullmatch(absent))


def stored_secret(secret: SecretStr | None, file: Path | None) -> SecretStr:
    """Return the secret, or the content of its file; validation made sure that one of them is set."""
    if file is not None:
        return read_secret(file)
    return secret if secret is not None else SecretStr("")


def one_of(raw: Mapping[str, object], key: str, file_key: str) -> Iterator[InitErrorDetails]:
    """Require exactly one of a secret and its file."""
    given = [name for name in (key, file_key) if raw.get(name) is not None]
    if not given:
        yield at((key,), refused(f"missing; expected {key} or {file_key}"))
    elif len(given) > 1:
        yield at((file_key,), refused(f"set together with {key}; expected one of the two"))


Secret = Annotated[SecretStr | None, BeforeValidator(parse_secret)]
SecretFile = Annotated[Path | None, BeforeValidator(parse_secret_file), Metavar("FILE")]
