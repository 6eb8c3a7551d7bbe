"""Reads and validates secrets and the files that hold them."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, SecretStr

from exporter.untrusted.regular_file import UnreadableError, read_text
from exporter.validation.section import Conflict, Section, broken

# Quotes come from a shell or an environment file by mistake.
_QUOTED = re.compile(r"""(["']).*\1""")


class SecretError(ValueError):
    """A secret cannot be used; the message does not contain the secret."""


def read_secret(path: Path) -> SecretStr:
    """Read the secret from a file; raises SecretError if the file cannot be read or the secret cannot be used."""
    try:
        return _parse_secret(SecretStr(read_text(path)))
    except UnreadableError as error:
        raise SecretError(str(error)) from None
    except SecretError as error:
        raise SecretError(f"{path} {error}") from None


def _parse_secret(secret: SecretStr) -> SecretStr:
    text = secret.get_secret_value().strip()
    if not text:
        raise SecretError("is empty")
    if not (text.isascii() and text.isprintable()):
        raise SecretError("contains a line break or another character that is not printable ASCII")
    if _QUOTED.fullmatch(text):
        raise SecretError("has quotes around the secret; the quotes would be a part of the secret")
    return SecretStr(text)


def _check_file(path: Path) -> Path:
    if not os.path.lexists(path):
        raise SecretError("cannot be found; the name is not shown, as it could be the secret itself")
    read_secret(path)
    return path


def one_of(section: Section, key: str, file_key: str, *, needed: bool = True) -> Iterator[Conflict]:
    """Yield a conflict if a secret and its file are both set; with `needed`, also if neither is set."""
    has_secret, has_file = (getattr(section, name) is not None for name in (key, file_key))
    is_missing = needed and not has_secret and not has_file
    return broken(
        (is_missing, key, f"missing; expected {key} or {file_key}"),
        (has_secret and has_file, file_key, f"set together with {key}; expected one of the two"),
    )


Secret = Annotated[SecretStr, AfterValidator(_parse_secret)] | None
SecretFile = Annotated[Annotated[Path, AfterValidator(_check_file)] | None, "FILE"]
