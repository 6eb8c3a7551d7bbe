"""Reads and validates secrets and the files that hold them."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, SecretStr

from exporter.untrusted.regular_file import UnreadableError, read_text
from exporter.validation.section import Conflict, Section, broken

# Quotes that come from a shell or an environment file by mistake; no platform issues a key with quotes.
_QUOTED = re.compile(r"""(["']).*\1""")


class SecretError(ValueError):
    """A secret cannot be used; the message names its file, if it has one, and never its content."""


def read_secret(path: Path) -> SecretStr:
    """Read the secret from a file; raises SecretError if it cannot be used."""
    try:
        return _usable(SecretStr(read_text(path)))
    except UnreadableError as error:
        raise SecretError(str(error)) from None
    except SecretError as error:
        raise SecretError(f"{path} {error}") from None


def _usable(secret: SecretStr) -> SecretStr:
    """Return a secret without white space around it; raises SecretError if it cannot be sent."""
    text = secret.get_secret_value().strip()
    if not text:
        raise SecretError("is empty")
    if not (text.isascii() and text.isprintable()):
        raise SecretError("contains a line break or another character that an HTTP header cannot carry")
    if _QUOTED.fullmatch(text):
        raise SecretError("has quotes around the secret, which would be sent with it")
    return SecretStr(text)


def _usable_file(path: Path) -> Path:
    """Validate the name of a file, which must hold a usable secret. A secret in place of the name is not shown."""
    if not os.path.lexists(path):
        raise SecretError("does not exist; the name is not shown, as it could be the secret itself")
    read_secret(path)
    return path


def one_of(section: Section, key: str, file_key: str, *, needed: bool = True) -> Iterator[Conflict]:
    """Refuse a secret together with its file and, if one of them is needed, neither."""
    lacks, lacks_file = (getattr(section, name) is None for name in (key, file_key))
    return broken(
        (needed and lacks and lacks_file, key, f"missing; expected {key} or {file_key}"),
        (not lacks and not lacks_file, file_key, f"set together with {key}; expected one of the two"),
    )


Secret = Annotated[SecretStr, AfterValidator(_usable)] | None
SecretFile = Annotated[Annotated[Path, AfterValidator(_usable_file)] | None, "FILE"]
