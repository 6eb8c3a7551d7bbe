"""Joins and compresses the chunks of a family in segments of neighbouring targets; a change affects one segment.

Each segment is compressed alone and ends with a full flush. Such pieces, one after another, are one gzip member, whose
checksum is combined from theirs (RFC 1951, RFC 1952).
"""

import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import sub

from isal import isal_zlib

from exporter.targets.target import PollKey

# The size of a segment: large enough to be sent alone and to compress well, small enough to be rebuilt for one target.
SEGMENT_BYTES = 256 * 1024
SMALL_BYTES = 64 * 1024
DEFLATE_LEVEL = 1
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
_FINAL_BLOCK = b"\x03\x00"


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of an exposition, plain, and compressed up to a full flush."""

    plain: bytes
    packed: bytes
    crc: int

    @classmethod
    def of(cls, plain: bytes) -> "Part":
        """Compress bytes."""
        deflate = isal_zlib.compressobj(DEFLATE_LEVEL, isal_zlib.DEFLATED, -15)
        packed = deflate.compress(plain) + deflate.flush(isal_zlib.Z_FULL_FLUSH)
        return cls(plain, packed, isal_zlib.crc32(plain))


class Body:
    """A whole exposition in one format, ready to be sent in pieces.

    Attributes:
        pieces: the plain bytes; most of them share memory with the other format and with other generations.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.pieces = tuple(gather((part.plain for part in parts), SMALL_BYTES))
        self._parts = parts
        self._packed: tuple[bytes, ...] = ()

    def packed(self) -> tuple[bytes, ...]:
        """Return the same as one gzip member; joined at the first call, because it shares no memory."""
        if not self._packed:
            crc = size = 0
            for part in self._parts:
                crc = isal_zlib.crc32_combine(crc, part.crc, len(part.plain))
                size += len(part.plain)
            trailer = _FINAL_BLOCK + struct.pack("<II", crc, size & 0xFFFFFFFF)
            self._packed = tuple(gather((_GZIP_HEADER, *(part.packed for part in self._parts), trailer), SEGMENT_BYTES))
        return self._packed


def gather(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield the same bytes in fewer pieces: pieces below a size are joined with their neighbours."""
    small: list[bytes] = []
    room = size
    for piece in pieces:
        is_small = len(piece) < size
        if is_small:
            small.append(piece)
            room -= len(piece)
        if small and (room <= 0 or not is_small):
            yield b"".join(small)
            small, room = [], size
        if not is_small:
            yield piece
    if small:
        yield b"".join(small)


class Segment:
    """Chunks of neighbouring targets. Unchanged chunks are kept in the joined bytes only.

    Attributes:
        keys: the targets, in order.
        series: the number of series of each target, in the same order.
        size: the number of bytes.
    """

    __slots__ = ("_ends", "_fresh", "_marks", "_part", "_plain", "keys", "series", "size")

    def __init__(self, keys: list[PollKey], chunks: list[bytes], series: Iterable[int]) -> None:
        self.keys = keys
        self.series = array("I", series)
        self.size = sum(map(len, chunks))
        self._part: Part | None = None
        self._plain = b""
        # The chunks that are not in the joined bytes yet, and for each index a mark: 1 if its chunk is one of them.
        self._fresh = dict(zip(keys, chunks, strict=True))
        self._marks = bytearray(b"\1" * len(keys))
        # The end of each joined chunk in the joined bytes; one without a mark begins where the one before it ends.
        self._ends = array("I", [0]) * len(keys)

    def find(self, key: PollKey) -> int | None:
        """Return the index of a target; None if it is not here."""
        place = bisect_left(self.keys, key)
        return place if place < len(self.keys) and self.keys[place] == key else None

    def put(self, key: PollKey, chunk: bytes, series: int) -> int:
        """Replace or add the chunk of a target; returns the number of series that it had."""
        place = bisect_left(self.keys, key)
        had = 0
        if place == len(self.keys) or self.keys[place] != key:
            self.keys.insert(place, key)
            self.series.insert(place, series)
            self._ends.insert(place, self._start(place))
            self._marks.insert(place, 1)
        else:
            before, had = self.chunk(place), self.series[place]
            if before == chunk:
                return had
            self.size -= len(before)
        self.size += len(chunk)
        self.series[place] = series
        self._fresh[key] = chunk
        self._marks[place] = 1
        self._part = None
        return had

    def remove(self, place: int) -> None:
        """Remove the chunk at an index."""
        self.size -= len(self.chunk(place))
        self._fresh.pop(self.keys[place], None)
        self._part = None
        following = place + 1
        if following < len(self.keys):
            # The removed bytes leave a gap, so the next chunk gets a mark.
            self._fresh[self.keys[following]] = self.chunk(following)
            self._marks[following] = 1
        del self.keys[place], self.series[place], self._ends[place], self._marks[place]

    def chunk(self, place: int) -> bytes:
        """Return the chunk at an index."""
        if self._marks[place]:
            return self._fresh[self.keys[place]]
        return self._plain[self._start(place) : self._ends[place]]

    def _start(self, place: int) -> int:
        return self._ends[place - 1] if place else 0

    def part(self) -> Part:
        """Return the chunks, joined and compressed."""
        if self._part is None:
            self._part = Part.of(self._join())
            self._plain = self._part.plain
        return self._part

    def _join(self) -> bytes:
        # To copy chunks between two marks in one piece makes a generation 40 % cheaper if 1 % of them have changed.
        sizes = array("I", map(sub, self._ends, array("I", [0]) + self._ends[:-1]))
        pieces: list[bytes | memoryview] = []
        plain = memoryview(self._plain)
        place, count = 0, len(self.keys)
        while place < count:
            mark = self._marks.find(1, place)
            until = count if mark < 0 else mark
            if until > place:
                pieces.append(plain[self._start(place) : self._ends[until - 1]])
            if until < count:
                chunk = self._fresh[self.keys[until]]
                sizes[until] = len(chunk)
                pieces.append(chunk)
            place = until + 1
        self._ends = array("I", accumulate(sizes))
        self._fresh = {}
        self._marks = bytearray(count)
        return b"".join(pieces)

    def halves(self) -> "list[Segment]":
        """Return two segments with the lower and the upper half."""
        half = len(self.keys) // 2
        chunks = [self.chunk(place) for place in range(len(self.keys))]
        return [Segment(self.keys[at], chunks[at], self.series[at]) for at in (slice(half), slice(half, None))]


class FamilyChunks:
    """The encoded chunks of one family, in segments ordered by target.

    Attributes:
        segments: the segments, in order.
        total: the number of series.
    """

    __slots__ = ("_firsts", "segments", "total")

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self._firsts: list[PollKey] = []
        self.total = 0

    def _find(self, key: PollKey) -> tuple[int, int] | None:
        """Return the indices of a target's segment, and of its chunk there; None if it has none."""
        index = max(0, bisect_right(self._firsts, key) - 1)
        place = self.segments[index].find(key) if self.segments else None
        return None if place is None else (index, place)

    def put(self, key: PollKey, chunk: bytes, series: int) -> None:
        """Replace or add the chunk of a target; `series` is the number of series in it."""
        self.total += series
        if not self.segments:
            self.segments, self._firsts = [Segment([key], [chunk], [series])], [key]
            return
        place = max(0, bisect_right(self._firsts, key) - 1)
        segment = self.segments[place]
        self.total -= segment.put(key, chunk, series)
        self._firsts[place] = segment.keys[0]
        if segment.size > SEGMENT_BYTES and len(segment.keys) > 1:
            halves = segment.halves()
            self.segments[place : place + 1] = halves
            self._firsts[place : place + 1] = [half.keys[0] for half in halves]

    def remove(self, key: PollKey) -> None:
        """Remove the chunk of a target, if there is one."""
        found = self._find(key)
        if found is None:
            return
        index, place = found
        segment = self.segments[index]
        self.total -= segment.series[place]
        segment.remove(place)
        if segment.keys:
            self._firsts[index] = segment.keys[0]
        else:
            del self.segments[index], self._firsts[index]

    def select(self, wanted: Callable[[PollKey], bool]) -> Iterator[bytes]:
        """Yield the chunks of wanted targets, in order."""
        for segment in self.segments:
            for place, key in enumerate(segment.keys):
                if wanted(key):
                    yield segment.chunk(place)
