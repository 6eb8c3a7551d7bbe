"""Escapes untrusted text, so that it cannot control a terminal, forge a line, or change the direction of text."""


def escape(text: str, *, keep: str = "") -> str:
    r"""Replace every character that a terminal does not display as it is by its JSON escape, such as `\u001b`.

    These are control characters (C0, DEL and C1), line breaks, direction marks and other invisible characters, spaces
    other than U+0020, private and unassigned characters, and halves of surrogate pairs. Characters to `keep` are not
    escaped, such as a line break in a text of several lines. Escaped JSON still means the same, if line breaks between
    its values are kept.
    """
    return "".join(char if char.isprintable() or char in keep else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    """Return a JSON escape for each 16 bits of a character in UTF-16: one, or two for a surrogate pair."""
    digits = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{digits[start : start + 4]}" for start in range(0, len(digits), 4))
