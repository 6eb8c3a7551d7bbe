"""Parses a long JSON text in small steps, while it arrives, so that the event loop is never blocked for long.

`json.loads` and pydantic hold the interpreter until the whole text is parsed: half a second and more for 16 MiB, on a
thread as well. Here, a value that ends within a window of a few thousand characters is parsed at once, by the standard
library's C scanner. The values of a longer array or object are parsed one by one.
"""

import codecs
import json
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

WINDOW = 4096
# The number of characters that are parsed between two pauses: about a millisecond's work.
STEP = 16_384
# Far above any documented answer; they limit the memory and the time for a hostile answer.
MOST_ITEMS = 200_000
MOST_VALUES = 50_000
DEEPEST = 100

_BLANK = re.compile(r"[ \t\n\r]*")
# One half of a surrogate pair; without the other half, the text cannot be encoded.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_NUMBER = "0123456789.eE+-"
_SCAN = json.JSONDecoder().raw_decode

Path = tuple[str, ...]
# Yields True after a step, and False when more text is needed.
Steps = Generator[bool, None, None]


@dataclass(frozen=True, slots=True)
class Items:
    """The array of an answer that may be long.

    Attributes:
        path: its place in the answer: keys, and `*` for an index of an array. Empty if it is the whole answer.
        read: converts a parsed item to the form that the answer's type expects; after a ValueError the item stays
            unconverted, and the validation of the whole answer reports it.
        most: parsing ends after this many items; None parses all, and more than `MOST_ITEMS` are refused.
    """

    path: Path
    read: Callable[[Any], Any]
    most: int | None = None


class NotWholeJsonError(Exception):
    """The text is not JSON, or it ends too early."""


class TooManyValuesError(Exception):
    """The text has more values than any answer of this kind; the message gives the limit."""


class _EnoughItems(Exception):
    """The wanted number of items has been parsed."""


class LongJson:
    """One document.

    Args:
        items: the array that may be long; None if the answer has none.

    Attributes:
        document: the part that has been parsed.
        begin: the beginning of the text.
        is_cut: whether parsing ended at the wanted number of items, before the end of the text.
    """

    def __init__(self, items: Items | None = None) -> None:
        self.document: Any = None
        self.begin = ""
        self.is_cut = False
        self._items = items
        # Invalid UTF-8 in a name must not make the whole answer unusable.
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._text = ""
        self._at = 0
        self._ahead: list[str] = []
        self._ahead_size = 0
        self._ended = False
        self._spent = 0
        self._values = 0
        self._steps = self._parse()

    def feed(self, piece: bytes, *, is_last: bool = False) -> Iterator[None]:
        """Parse bytes that have arrived; yields after about a millisecond of work.

        Raises:
            NotWholeJsonError: the text is not JSON.
            TooManyValuesError: there are more values than accepted.
        """
        text = self._decoder.decode(piece, is_last)
        self.begin = self.begin or text[:100].lstrip()
        self._ahead.append(text)
        self._ahead_size += len(text)
        self._ended = is_last
        for is_paused in self._steps:
            if not is_paused:
                return
            yield

    def close(self) -> None:
        """End the parsing. A parser that waits refers to itself: it would be kept until the next garbage collection."""
        self._steps.close()

    def _parse(self) -> Steps:
        try:
            yield from self._value((), partial(setattr, self, "document"))
            yield from self._fill(1)
            if self._at < len(self._text):
                raise NotWholeJsonError
        except _EnoughItems:
            self.is_cut = True

    def _value(self, path: Path, attach: Callable[[Any], None]) -> Steps:
        """Parse one value, and attach it; a long array or object is attached before it is filled."""
        yield from self._fill(1)
        char = self._text[self._at : self._at + 1]
        if char in ("[", "{"):
            if not self._ended and len(self._text) - self._at < WINDOW:
                yield from self._want(WINDOW)
            found = self._scan(WINDOW)
            if found is None:
                if len(path) >= DEEPEST:
                    raise NotWholeJsonError
                yield from self._array(path, attach) if char == "[" else self._object(path, attach)
                return
        else:
            size = WINDOW
            while (found := self._scan(size)) is None:
                if self._ended and not self._ahead and len(self._text) - self._at <= size:
                    raise NotWholeJsonError
                size *= 2
                yield from self._want(size)
        attach(found[0])
        self._spent += found[1]
        self._at += found[1]
        if self._spent >= STEP:
            self._spent = 0
            yield True

    def _scan(self, size: int) -> tuple[Any, int] | None:
        """Parse the value that begins here; return it with its length, or None if it does not end within the window."""
        window = self._text[self._at : self._at + size]
        try:
            value, length = _SCAN(window)
        except (ValueError, RecursionError):
            return None
        is_all = self._ended and not self._ahead and self._at + len(window) == len(self._text)
        if window[length - 1] not in '"]}' and not window[length:].strip(_NUMBER) and not is_all:
            return None  # a number may continue beyond the window
        return (without_surrogates(value) if _HALF.search(window, 0, length) else value), length

    def _array(self, path: Path, attach: Callable[[Any], None]) -> Steps:
        made: list[Any] = []
        attach(made)
        items = self._items if self._items is not None and self._items.path == path else None
        inner = (*path, "*")
        self._at += 1
        if (yield from self._next()) == "]":
            self._at += 1
            return
        while True:
            if items is None:
                self._count()
                yield from self._value(inner, made.append)
            else:
                if items.most is not None and len(made) >= items.most:
                    raise _EnoughItems
                if items.most is None and len(made) >= MOST_ITEMS:
                    raise TooManyValuesError(f"more than {MOST_ITEMS} items")
                self._values = 0
                # An item is converted when it is complete, however long it is.
                item: list[Any] = []
                yield from self._value(inner, item.append)
                with suppress(ValueError):
                    item[0] = items.read(item[0])
                made += item
            if (yield from self._between("]")):
                return

    def _object(self, path: Path, attach: Callable[[Any], None]) -> Steps:
        made: dict[str, Any] = {}
        attach(made)
        self._at += 1
        if (yield from self._next()) == "}":
            self._at += 1
            return
        while True:
            self._count()
            if (yield from self._next()) != '"':
                raise NotWholeJsonError
            key: list[str] = []
            yield from self._value(path, key.append)
            if (yield from self._next()) != ":":
                raise NotWholeJsonError
            self._at += 1
            yield from self._value((*path, key[0]), partial(made.__setitem__, key[0]))
            if (yield from self._between("}")):
                return

    def _between(self, closing: str) -> Generator[bool, None, bool]:
        """Skip the comma or the bracket after a value; return whether it was the last value."""
        char = yield from self._next()
        self._at += 1
        if char == closing:
            return True
        if char != ",":
            raise NotWholeJsonError
        return False

    def _next(self) -> Generator[bool, None, str]:
        """Return the next character that is not white space."""
        yield from self._fill(1)
        if self._at >= len(self._text):
            raise NotWholeJsonError
        return self._text[self._at]

    def _fill(self, size: int) -> Steps:
        """Skip white space, and wait for text unless it has ended."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank is not None else self._at
            if len(self._text) - self._at >= size or (self._ended and not self._ahead):
                return
            yield from self._want(len(self._text) - self._at + size)

    def _want(self, size: int) -> Steps:
        """Wait until this much text has arrived, or the text has ended."""
        while not self._ended and len(self._text) - self._at + self._ahead_size < size:
            yield False
        if self._ahead:
            self._text = "".join((self._text[self._at :], *self._ahead))
            self._at = 0
            self._ahead, self._ahead_size = [], 0

    def _count(self) -> None:
        self._values += 1
        if self._values > MOST_VALUES:
            raise TooManyValuesError(f"more than {MOST_VALUES} values outside of its list")


def without_surrogates(value: Any) -> Any:  # noqa: ANN401
    """Replace lone surrogates in a parsed value, so that they spoil one name and not the whole answer."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value
