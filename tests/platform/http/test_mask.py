"""A mask finds secrets in every encoding of a platform, and changes nothing else."""

import html
import json
import re
from base64 import b64decode, b64encode, encodebytes, urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from random import Random
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.platform.http.responses import Mask

SECRETS = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=12, max_size=80)


def as_json(text: str) -> str:
    """Return the text as JSON, without the quotation marks."""
    return json.dumps(text)[1:-1]


def as_json_escapes(text: str) -> str:
    """Return the text as JSON in which each character is an escape."""
    return "".join(f"\\u{ord(char):04X}" for char in text)


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": as_json,
    "json, slashes escaped": lambda text: as_json(text).replace("/", "\\/"),
    "json escapes": as_json_escapes,
    "json in json": lambda text: as_json(as_json(text)),
    "json escapes in json": lambda text: as_json(as_json_escapes(text).lower()),
    "url": lambda text: quote(text, safe=""),
    "url, spaces as plus": quote_plus,
    "url, all of it": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "url, twice": lambda text: quote(quote(text, safe=""), safe=""),
    "url, all of it twice": lambda text: "".join(f"%25{byte:02x}" for byte in text.encode()),
    "upper case": str.upper,
    "lower case in json": lambda text: as_json(text.lower()),
    "html": html.escape,
    "html, numbers": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "hexadecimal": lambda text: text.encode().hex(),
    "base64": lambda text: b64encode(text.encode()).decode(),
    "base64, safe in a url": lambda text: urlsafe_b64encode(text.encode()).decode(),
    "base64 in a url": lambda text: quote(b64encode(text.encode()).decode(), safe=""),
    "base64 in json": lambda text: b64encode(text.encode()).decode().replace("/", "\\/"),
    "base64 in lines": lambda text: encodebytes(text.encode()).decode(),
    "base64 in lines of a mail": lambda text: encodebytes(text.encode()).decode().replace("\n", "\r\n"),
    "base64 in lines in json": lambda text: as_json(encodebytes(text.encode()).decode().replace("\n", "\r\n")),
    "base64 of basic authentication": lambda text: b64encode(f"user:{text}".encode()).decode(),
}


@pytest.mark.parametrize("name", ENCODINGS)
@given(secret=SECRETS, before=st.text("ab<> ", max_size=9), after=st.text("ab<> ", max_size=9))
def test_a_secret_is_masked_in_every_encoding(name: str, secret: str, before: str, after: str) -> None:
    raw = f"<{before}>{ENCODINGS[name](secret)}<{after}>".encode()
    masked = Mask([secret]).apply(raw)
    if name.startswith("base64"):
        # What is left of its digits is of the bytes beside the secret, but for a few bits.
        assert len(masked) <= len(raw) - len(secret)
    else:
        assert masked == f"<{before}>***<{after}>".encode()


@given(before=st.binary(max_size=8), secret=SECRETS, after=st.binary(max_size=8))
def test_digits_of_base64_that_remain_do_not_show_the_secret(before: bytes, secret: str, after: bytes) -> None:
    masked = Mask([secret]).apply(b64encode(before + secret.encode() + after))
    assert masked.count(b"***") == 1
    for digits in masked.split(b"***"):
        with suppress(ValueError):
            assert secret.encode()[1:-1] not in b64decode(digits[: len(digits) // 4 * 4])


@given(text=st.text(), secret=SECRETS.map("-{}".format))
def test_json_around_a_masked_secret_is_the_same_json(text: str, secret: str) -> None:
    """The secret does not begin with a hexadecimal digit, so it cannot begin within an escape."""
    raw = json.dumps({"before": text, "echo": f"{text}{secret}\\", "after": [text]}).encode()
    read = json.loads(Mask([secret]).apply(raw))
    assert secret not in read["echo"]
    if secret not in text:
        assert (read["before"], read["after"]) == (text, [text])


@pytest.mark.parametrize(
    ("secret", "echo", "left"),
    [
        ("0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", "0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9", "***"),
        ("a/b c%d-0123456789", "a%252Fb%2520c%2525d-0123456789", "***"),
        ("k" * 100, encodebytes(b"user:" + b"k" * 100).decode(), "dXNlcjp***\n"),
    ],
)
def test_no_part_of_a_secret_remains(secret: str, echo: str, left: str) -> None:
    assert Mask([secret]).apply(f"<{echo}>".encode()) == f"<{left}>".encode()


@given(raw=st.binary(), secret=st.text(min_size=12))
def test_what_holds_no_secret_is_left_as_it_is(raw: bytes, secret: str) -> None:
    assert Mask([]).apply(raw) == Mask(["too short"]).apply(raw) == raw
    assert secret not in Mask([secret]).apply(secret.encode("utf-8", "replace")).decode()


def test_several_secrets_are_masked() -> None:
    mask = Mask(["a first secret", "a second secret"])
    assert mask.apply(b"a first secret, a second secret") == b"***, ***"


@pytest.mark.parametrize("length", [4_096, 4_097, 9_000])
def test_a_long_secret_is_masked_in_pieces(length: int) -> None:
    secret = Random(length).randbytes(length).hex()[:length]  # noqa: S311 - no secret of anybody
    masked = Mask((secret,)).apply(b"before " + secret.encode() + b" after")
    assert re.fullmatch(rb"before (\*\*\*)+ after", masked)
