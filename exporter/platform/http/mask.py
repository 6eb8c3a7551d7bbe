"""Masks secrets: those that are known wherever they occur, and others by the names of their fields.

A known secret is found in upper or lower case, as plain text, escaped for JSON (once or twice) or HTML, percent-encoded
(once or twice), as hexadecimal digits, and as base64, also the variant for URLs and in lines of 76 columns.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from html import escape
from re import DOTALL, IGNORECASE
from re import compile as regex
from typing import Any

import re2

from exporter.platform.errors import MASK

# A shorter secret may be equal to a word of the answer.
SHORTEST = 12
# A longer secret is masked in pieces, because one expression for all of it could be too large for the engine.
_PIECE = 4096
# The highest number of characters that the pattern of one character matches.
_LONGEST_CHARACTER = 24
# A line of base64 ends after a group of four digits; in JSON, the line break is escaped.
_BREAK = r"(?:(?:\r|\\{1,4}r)?(?:\n|\\{1,4}n))?"
# An '@' that does not end the user name and the password for every parser.
_AMBIGUOUS = regex(r"[/?#@].*@", DOTALL)
_BASE64_SYMBOLS = {"+": r"(?:\+|-|%(?:25)?2[Bb])", "/": r"(?:\\?/|_|%(?:25)?2[Ff])"}
_WORD = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORDS = frozenset({"key", "keys", "pwd", "passwd", "passphrase"})
_SECRET_PART = regex(
    r"password|secret|token|credential|(api|access|private|auth|signing)[_-]?key|authorization", IGNORECASE
)


def is_ambiguous(address: str) -> bool:
    """Return whether a part of a password in an address could be taken for its host, port or path, and shown."""
    return _AMBIGUOUS.search(address.partition("://")[2] or address) is not None


def is_secret_name(name: str) -> bool:
    """Return whether a field of this name may hold a secret, such as a key, a password or a token."""
    return _SECRET_PART.search(name) is not None or any(
        word.lower() in _SECRET_WORDS for word in _WORD.findall(name.replace("_", " "))
    )


def mask_secrets(
    data: object, is_secret: Callable[[str], bool] = is_secret_name, clean: Callable[[str], str] = str
) -> object:
    """Replace, in place, every text below a field with a secret's name; numbers are not secrets.

    Args:
        data: any JSON.
        is_secret: whether a field of this name holds a secret.
        clean: applied to all other texts.
    """
    pending: list[tuple[Any, bool]] = [(data, False)] if isinstance(data, dict | list) else []
    while pending:
        holder, hides = pending.pop()
        for place, item in holder.items() if isinstance(holder, dict) else enumerate(holder):
            hidden = hides or (isinstance(place, str) and is_secret(place))
            if isinstance(item, str):
                holder[place] = MASK if hidden and item else clean(item)
            elif isinstance(item, dict | list):
                pending.append((item, hidden))
    return data


class Mask:
    """Replaces secrets in bytes by `***`.

    Args:
        secrets: the secrets to mask; in answers, those that are too short are not masked.

    Attributes:
        secrets: the same.
        longest: the highest number of bytes of an occurrence of a secret; 0 if nothing is masked.
    """

    __slots__ = ("_compiled", "longest", "secrets")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.secrets = tuple(secrets)
        pieces = [piece for secret in self.secrets if len(secret) >= SHORTEST for piece in _pieces(secret)]
        # The longest first: a shorter secret may be a part of a longer one, whose rest would remain.
        pieces.sort(key=len, reverse=True)
        self.longest = max(map(len, pieces), default=0) * _LONGEST_CHARACTER
        options = re2.Options()
        options.log_errors = False
        options.max_mem = 64 * 1024 * 1024
        self._compiled = [re2.compile("|".join(_patterns(piece)).encode(), options) for piece in pieces]

    def apply(self, raw: bytes) -> bytes:
        """Return the bytes without the secrets."""
        for pattern in self._compiled:
            if pattern.search(raw) is not None:
                raw = pattern.sub(MASK.encode(), raw)
        return raw

    def text(self, text: str) -> str:
        """Return a text without the secrets, also without those that are too short to be masked in an answer."""
        text = self.apply(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
        for secret in filter(None, self.secrets):
            text = text.replace(secret, MASK)
        return text


def _pieces(secret: str) -> list[str]:
    """Divide a secret into equal pieces, so that no piece is short."""
    number = -(-len(secret) // _PIECE)
    size = -(-len(secret) // number)
    return [secret[start : start + size] for start in range(0, len(secret), size)]


def _patterns(secret: str) -> Iterator[str]:
    yield "".join(map(_character, secret))
    plain = secret.encode("utf-8", "replace")
    yield f"(?i:{plain.hex()})"
    # The base64 digits depend on the bytes before the secret; the first and the last digit may depend on its
    # neighbours.
    for before in range(3):
        digits = b64encode(bytes(before) + plain + bytes(2)).decode()
        first = -(-before * 8 // 6)
        yield "".join(
            (_BREAK if place % 4 == 0 and place > first else "") + _BASE64_SYMBOLS.get(digits[place], digits[place])
            for place in range(first, (before + len(plain)) * 8 // 6)
        )


def _character(char: str) -> str:
    """Return a pattern of a character as it is, or escaped for JSON, a URL or HTML."""
    units = char.encode("utf-16-be", "replace").hex()
    in_json = "".join(rf"\\{{0,4}}u{units[at : at + 4]}" for at in range(0, len(units), 4))
    in_url = "".join(f"%(?:25)?{byte:02x}" for byte in char.encode("utf-8", "replace"))
    in_html = f"&#0{{0,4}}{ord(char)};|&#x0{{0,4}}{ord(char):x};"
    # The longer alternative first, so that no part of it remains.
    plain = "|".join(
        re2.escape(it) for it in sorted({char, escape(char), "+" if char == " " else char}, key=len, reverse=True)
    )
    # Text that is escaped twice has several backslashes. All are replaced, so that the rest remains valid JSON.
    return rf"(?i:{in_json}|{in_url}|{in_html}|\\{{0,4}}(?:{plain}))"
