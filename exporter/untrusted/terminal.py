"""Escapes untrusted text, which could control a terminal or forge a line."""


def escape(text: str, *, keep: str = "") -> str:
    r"""Replace unprintable characters (`str.isprintable`) by JSON escapes, such as `\u001b`.

    Unprintable are control and format characters, line breaks, spaces other than U+0020, private and unassigned
    characters, and halves of surrogate pairs. Characters in `keep` are not escaped. A JSON text keeps its meaning
    if `keep` contains the line breaks and tabs between its values.
    """
    return "".join(char if char.isprintable() or char in keep else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    # A JSON escape has 16 bits: a character above U+FFFF becomes two escapes, for the halves of its surrogate pair.
    digits = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{digits[start : start + 4]}" for start in range(0, len(digits), 4))
