"""Masks secrets in texts and in JSON, and recognizes addresses whose password a parser could show in part."""

import re
from collections.abc import Callable, Iterable
from typing import Any

# The text that replaces a secret.
MASK = "***"
# The fewest characters of a secret that is masked in bodies: a shorter one may be equal to a word of an answer.
SHORTEST_MASKED = 12
# If an address has one of these characters before an '@', parsers disagree on where the password ends.
_AMBIGUOUS = re.compile(r"[/?#@].*@", re.DOTALL)
# A word of a name such as `likeThis`, `LikeThis`, `like_this` or `THISName`.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# A name with one of these words is a secret's name: `api_key` is one, `monkey` is not.
_SECRET_WORDS = frozenset({"key", "keys", "pwd", "passwd", "passphrase"})
# A name is also a secret's name if it contains one of these at any place, as `accesstoken` does.
_SECRET_PART = re.compile(
    r"password|secret|token|credential|(api|access|private|auth|signing)[_-]?key|authorization", re.IGNORECASE
)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Mask secrets in a text; the longest first, because a shorter secret may be a part of a longer one."""
    # An empty secret would be found between all characters.
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def body_without_secrets(body: bytes, secrets: Iterable[str]) -> bytes:
    """Mask secrets of at least 12 characters in the body of an answer, the longest first."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_MASKED:
            # Without `surrogatepass`, a secret with half of a surrogate pair would raise an error.
            body = body.replace(secret.encode("utf-8", "surrogatepass"), MASK.encode())
    return body


def has_ambiguous_password(address: str) -> bool:
    """Return whether a parser could take a part of an address's password for the host, port or path, and show it."""
    without_scheme = address.split("://", maxsplit=1)[-1]
    return _AMBIGUOUS.search(without_scheme) is not None


def is_secret_name(name: str) -> bool:
    """Return whether a field of this name may hold a secret, such as a key, a password or a token."""
    has_secret_word = any(word.lower() in _SECRET_WORDS for word in _WORD.findall(name))
    return has_secret_word or _SECRET_PART.search(name) is not None


def mask_secrets(
    data: object, is_secret: Callable[[str], bool] = is_secret_name, clean: Callable[[str], str] = str
) -> None:
    """Mask, in place and at any depth, texts in fields with a secret's name. Numbers and empty texts are not masked.

    Args:
        data: parsed JSON, an object or an array; another value is left as it is.
        is_secret: returns whether a field with the given name holds a secret.
        clean: returns the replacement of a text that is not masked; by default, the text itself.
    """
    # The objects and arrays to examine; with True if they are inside of a field with a secret's name.
    pending: list[tuple[Any, bool]] = [(data, False)] if isinstance(data, dict | list) else []
    while pending:
        holder, is_within_secret = pending.pop()
        items = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key_or_index, item in items:
            is_hidden = is_within_secret or (isinstance(key_or_index, str) and is_secret(key_or_index))
            if isinstance(item, str):
                holder[key_or_index] = MASK if is_hidden and item else clean(item)
            elif isinstance(item, dict | list):
                pending.append((item, is_hidden))
