"""Masks the secrets of a call in its answer, in any encoding in which the platform may repeat them."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from html import escape

import re2

from exporter.platform.errors import MASK

# A shorter secret may be equal to a word of the answer.
SHORTEST = 12
# A longer secret is masked in pieces, because one expression for all of it could be too large for the engine.
_PIECE = 4096
# The highest number of characters that the pattern of one character matches.
_LONGEST_CHARACTER = 24
_BASE64_SYMBOLS = {"+": r"(?:\+|-|%2[Bb])", "/": r"(?:\\?/|_|%2[Ff])"}


class Mask:
    """Replaces secrets in bytes by `***`.

    It finds a secret as plain text, escaped for JSON, a URL or HTML, and within base64 or hexadecimal digits.

    Args:
        secrets: the secrets to mask; those that are too short are not masked.

    Attributes:
        longest: the highest number of bytes of an occurrence of a secret; 0 if nothing is masked.
    """

    __slots__ = ("_compiled", "_secrets", "longest")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        pieces = [piece for secret in self._secrets if len(secret) >= SHORTEST for piece in _pieces(secret)]
        # The longest first: a shorter secret may be a part of a longer one, whose rest would remain.
        pieces.sort(key=len, reverse=True)
        self.longest = max(map(len, pieces), default=0) * _LONGEST_CHARACTER
        options = re2.Options()
        options.log_errors = False
        options.max_mem = 64 * 1024 * 1024
        self._compiled = [re2.compile("|".join(_patterns(piece)).encode(), options) for piece in pieces]

    def is_of(self, secrets: tuple[str, ...]) -> bool:
        """Return whether it masks these secrets."""
        return self._secrets == secrets

    def apply(self, raw: bytes) -> bytes:
        """Return the bytes without the secrets."""
        for pattern in self._compiled:
            if pattern.search(raw) is not None:
                raw = pattern.sub(MASK.encode(), raw)
        return raw


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
        own = digits[-(-before * 8 // 6) : (before + len(plain)) * 8 // 6]
        yield "".join(_BASE64_SYMBOLS.get(digit, digit) for digit in own)


def _character(char: str) -> str:
    """Return a pattern of a character as it is, or escaped for JSON, a URL or HTML."""
    units = char.encode("utf-16-be", "replace").hex()
    in_json = "".join(rf"\\{{0,4}}u{units[at : at + 4]}" for at in range(0, len(units), 4))
    in_url = "".join(f"%{byte:02x}" for byte in char.encode("utf-8", "replace"))
    in_html = f"&#0{{0,4}}{ord(char)};|&#x0{{0,4}}{ord(char):x};"
    # The longer alternative first, so that no part of it remains.
    plain = "|".join(
        re2.escape(it) for it in sorted({char, escape(char), "+" if char == " " else char}, key=len, reverse=True)
    )
    # Text that is escaped twice has several backslashes. All are replaced, so that the rest remains valid JSON.
    return rf"(?:(?i:{in_json}|{in_url}|{in_html})|\\{{0,4}}(?:{plain}))"
