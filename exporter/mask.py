"""Masks secrets by their values or by the names of their fields, and finds addresses whose password could be shown."""

import re
from collections.abc import Callable, Iterable
from typing import Any

# The text that replaces a secret.
MASK = "***"
# Secrets with fewer characters are not masked in bodies, because they may be equal to a word of an answer.
SHORTEST_MASKED = 12
# One of these characters before an '@': parsers of addresses disagree on where such a password ends.
_AMBIGUOUS = re.compile(r"[/?#@].*@", re.DOTALL)
# A word of a name such as `likeThis`, `LikeThis`, `like_this` or `THISName`.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Only as whole words: `monkey` is no secret.
_SECRET_WORDS = frozenset({"key", "keys", "pwd", "passwd", "passphrase"})
# At any place in a name, as in `accesstoken`.
_SECRET_PART = re.compile(
    r"password|secret|token|credential|(api|access|private|auth|signing)[_-]?key|authorization", re.IGNORECASE
)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Replace each secret in a text; the longest first, because a shorter secret may be a part of a longer one."""
    # An empty secret would be found between all characters.
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def body_without_secrets(body: bytes, secrets: Iterable[str]) -> bytes:
    """Replace each secret of at least 12 characters in the body of an answer, as `without_secrets` does in a text."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_MASKED:
            # A secret with half of a surrogate pair is no error; a body in UTF-8 cannot contain it.
            body = body.replace(secret.encode("utf-8", "surrogatepass"), MASK.encode())
    return body


def has_ambiguous_password(address: str) -> bool:
    """Return whether an address may have a password of which a parser could show a part as the host, port or path."""
    without_scheme = address.split("://", maxsplit=1)[-1]
    return _AMBIGUOUS.search(without_scheme) is not None


def is_secret_name(name: str) -> bool:
    """Return whether a field of this name may hold a secret, such as a key, a password or a token."""
    has_secret_word = any(word.lower() in _SECRET_WORDS for word in _WORD.findall(name))
    return has_secret_word or _SECRET_PART.search(name) is not None


def mask_secrets(
    data: object, is_secret: Callable[[str], bool] = is_secret_name, clean: Callable[[str], str] = str
) -> None:
    """Mask, in place, every text in a field with a secret's name, at any depth. Numbers and empty texts are not masked.

    Args:
        data: any JSON; data that is a text is not masked.
        is_secret: returns whether a field of this name holds a secret.
        clean: returns what replaces any other value that is a text; by default, the text itself.
    """
    # Objects and arrays to examine, and whether all of their texts are secret because they are in a secret's field.
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
