"""Reads and validates secrets and the files that hold them."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, SecretStr

from exporter.untrusted.regular_file import read_text, unreadable
from exporter.validation.section import Conflict, Section, refused
from exporter.validation.types import Metavar

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
        text = read_text(path).strip()
    except OSError as error:
        raise SecretFileError(path, unreadable(error)) from None
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


def _usable(secret: SecretStr | None) -> SecretStr | None:
    """Validate a secret that is written in the configuration itself."""
    if secret is None:
        return None
    text = secret.get_secret_value().strip()
    if problem := _problem(text):
        raise refused(problem)
    return SecretStr(text)


def _usable_file(path: Path | None) -> Path | None:
    """Validate the name of a file, which must hold a usable secret. A secret in place of the name is not shown."""
    try:
        if path is not None:
            read_secret(path)
    except SecretFileError as error:
        if os.path.lexists(error.path):
            raise refused(str(error)) from None
        raise refused("does not exist; the name is not shown, as it could be the secret itself") from None
    return path


def stored_secret(secret: SecretStr | None, file: Path | None) -> SecretStr:
    """Return the secret, or the content of its file; validation made sure that one of them is set."""
    if file is not None:
        return read_secret(file)
    return secret if secret is not None else SecretStr("")


def one_of(section: Section, key: str, file_key: str) -> Iterator[Conflict]:
    """Require exactly one of a secret and its file."""
    given = [name for name in (key, file_key) if getattr(section, name) is not None]
    if not given:
        yield (key,), f"missing; expected {key} or {file_key}"
    elif len(given) > 1:
        yield (file_key,), f"set together with {key}; expected one of the two"


Secret = Annotated[SecretStr | None, AfterValidator(_usable)]
SecretFile = Annotated[Path | None, AfterValidator(_usable_file), Metavar("FILE")]
