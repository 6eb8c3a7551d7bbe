"""Parsing long JSON in steps: the same result as at once, however it is divided, and limits for hostile texts."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from exporter.platform.api.document import Document
from exporter.platform.errors import NotJson
from exporter.platform.http.responses import LONG_BODY
from exporter.platform.long_json import (
    DEEPEST,
    MOST_ITEMS,
    MOST_VALUES,
    WINDOW,
    Items,
    LongJson,
    NotWholeJsonError,
    TooManyValuesError,
)
from exporter.platform.operation import Operation, Request
from tests.platform.clients import client_of

ANY = Operation("any", "/any", "Any document.", TypeAdapter(Document))
# Texts and arrays beyond the window are what takes other ways than a short document.
TEXTS = st.text(max_size=30) | st.integers(1, 3).map(lambda times: 'é"\\\n' * WINDOW * times)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=40) | st.dictionaries(st.text(max_size=5), inner, max_size=10),
    max_leaves=60,
)


def parse(text: str, piece: int = 1000, items: Items | None = None) -> LongJson:
    """Parse a text that arrives in pieces."""
    made, raw = LongJson(items), text.encode("utf-8", "surrogatepass")
    for at in range(0, len(raw), piece):
        list(made.feed(raw[at : at + piece]))
    list(made.feed(b"", is_last=True))
    return made


@given(DOCUMENTS, st.integers(1, 9000), st.sampled_from([None, 1]))
def test_it_is_the_same_document_as_at_once(document: object, piece: int, indent: int | None) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=piece % 2 == 0)
    assert parse(text, piece).document == document


@pytest.mark.parametrize("number", ["12345678901234567890", "-0.5e-3", "1E5", f"0.{'1' * WINDOW * 2}"])
def test_a_number_that_the_pieces_cut_is_whole(number: str) -> None:
    text = f"[{' ' * (WINDOW - 10)}{number},{number}]"
    for piece in range(WINDOW - 12, WINDOW + 25):
        assert parse(text, piece).document == [json.loads(number)] * 2


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "[", '{"a"', '{"a": 1', '{"a" 1}', "[1 2]", "[1 23]", "[1,]", '{"a": 1,}', "{1: 2}"),
        *('"a', "tru", "1 2", "[1] x", "<html>", "1e", "[1e]", "[1.]", "[--1]"),
    ],
)
def test_what_is_no_json_is_refused_short_and_long(text: str) -> None:
    with pytest.raises(NotWholeJsonError):
        parse(text)
    if text.startswith(("[", "{")):
        with pytest.raises(NotWholeJsonError):
            parse(text[0] + " " * WINDOW * 2 + text[1:])


def test_half_a_character_spoils_one_name() -> None:
    text = json.dumps([["a" * WINDOW], "x"])[:-1] + r',"half \ud800", "whole \ud83d\ude00"]'
    assert parse(text).document[2:] == ["half ?", "whole 😀"]


@pytest.mark.parametrize(
    "document",
    [
        *(b"", b"null", b"1", b'"text"', b"<html>", b'{"a":', b"[tru]", b"[1] x", b"[01]", b'["\\x"]', b'["\x01"]'),
        *(b"[18446744073709551616, -9223372036854775809]", b"[1e999, -1e999, NaN, Infinity]", b"[-0, 28.0, 1E5]"),
        *(
            b'["\\ud800", "\\ud83d\\ude00", "\\u0000", "\xff"]',
            b'{"\\ud800": 1}',
            b'{"a": 1, "a": 2}',
            b"\xef\xbb\xbf[1]",
        ),
        *(b"[" * 150 + b"]" * 150, b"[" * 5000 + b"]" * 5000, b"[" + b"1" * 5000 + b"]"),
    ],
    ids=lambda document: repr(document[:30]),
)
async def test_an_answer_is_read_the_same_whether_long_or_short(document: bytes) -> None:
    async def read(raw: bytes) -> str:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, content=raw))
        async with client_of("http://platform.example", transport=transport) as kit:
            try:
                return repr((await kit.calls.call(Request(ANY))).value)
            except NotJson as error:
                return str(error).replace("an empty body", "a body that is not whole JSON")

    assert await read(document + b" " * LONG_BODY) == await read(document)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(NotWholeJsonError):
        parse("[" * 1_000_000, 100_000)
    deep = "[" * DEEPEST + "1" + "]" * DEEPEST
    assert parse(deep).document == json.loads(deep)


def test_each_item_is_read_as_it_comes() -> None:
    text = json.dumps({"data": [{"id": number} for number in range(2000)], "page": {"data": [1]}})
    read: list[Any] = []

    def noting(item: Any) -> Any:
        read.append(item)
        return item["id"]

    assert parse(text, items=Items(("data",), noting)).document == {"data": list(range(2000)), "page": {"data": [1]}}
    assert len(read) == 2000


def test_an_item_that_cannot_be_read_stays_for_the_whole_answer_to_report() -> None:
    text = json.dumps([*range(3000), "no number"])
    assert parse(text, items=Items((), int)).document == [*range(3000), "no number"]


def test_parsing_ends_with_as_many_items_as_are_wanted() -> None:
    made = LongJson(Items(("rows", "*"), lambda row: row, 3))
    list(made.feed(('{"rows": [[' + ",".join(f'"{"x" * WINDOW}{number}"' for number in range(10))).encode()))
    assert made.is_cut
    assert [row[-1] for row in made.document["rows"][0]] == ["0", "1", "2"]


def test_too_many_values_are_refused() -> None:
    with pytest.raises(TooManyValuesError, match=f"more than {MOST_ITEMS} items"):
        parse("[" + "1," * (MOST_ITEMS + 1) + "1]", 60_000, Items((), lambda item: item))
    with pytest.raises(TooManyValuesError, match=f"more than {MOST_VALUES} values"):
        parse("[" + "1," * (MOST_VALUES + 1) + "1]", 60_000)


def test_a_step_parses_no_more_than_a_part_of_a_long_text() -> None:
    """A megabyte of any shape takes at least 100 steps; otherwise the event loop would wait."""
    rows = json.dumps([["a", number] for number in range(60_000)])
    made = LongJson(Items((), lambda row: row))
    assert sum(1 for _ in made.feed(rows.encode(), is_last=True)) > len(rows) / 20_000 - 1
