"""Joins and compresses the chunks of a family in segments of neighbouring targets; a change affects one segment.

Each segment is compressed alone and ends with a full flush. Such pieces, one after another, are one gzip member, whose
checksum is combined from theirs (RFC 1951, RFC 1952).
"""

import struct
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from isal import isal_zlib

from exporter.targets.target import PollKey

# The size of a segment: large enough to be sent alone and to compress well, small enough to be rebuilt for one target.
SEGMENT_BYTES = 256 * 1024
# Smaller pieces are sent together, larger ones in several.
SMALL_BYTES = 64 * 1024
LARGE_BYTES = 512 * 1024
DEFLATE_LEVEL = 1
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
_FINAL_BLOCK = b"\x03\x00"
_ROOM = 64


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of an exposition, compressed up to a full flush.

    Attributes:
        crc: the checksum of the plain bytes.
        size: the number of plain bytes.
    """

    packed: bytes
    crc: int
    size: int

    @classmethod
    def of(cls, plain: bytes) -> "Part":
        """Compress bytes."""
        deflate = isal_zlib.compressobj(DEFLATE_LEVEL, isal_zlib.DEFLATED, -15)
        packed = deflate.compress(plain) + deflate.flush(isal_zlib.Z_FULL_FLUSH)
        return cls(packed, isal_zlib.crc32(plain), len(plain))

    def plain(self) -> bytes:
        """Return the plain bytes: 8 MB take 3 ms, and to keep them would take a seventh of the daemon's memory."""
        # With no room behind the last byte, the buffer would grow once more, which takes as long as all the rest.
        return isal_zlib.decompress(self.packed + _FINAL_BLOCK, -15, self.size + _ROOM)


@dataclass(frozen=True, slots=True)
class Body:
    """A whole exposition in one format.

    Attributes:
        size: the number of plain bytes.
        packed: the exposition as one gzip member, in pieces to be sent.
        packed_size: the number of its bytes.
    """

    parts: Sequence[Part]
    size: int
    packed: Sequence[bytes]
    packed_size: int

    @classmethod
    def of(cls, parts: Sequence[Part]) -> "Body":
        """Join parts."""
        crc = size = 0
        for part in parts:
            crc = isal_zlib.crc32_combine(crc, part.crc, part.size)
            size += part.size
        trailer = _FINAL_BLOCK + struct.pack("<II", crc, size & 0xFFFFFFFF)
        packed = tuple(pieces_of((_GZIP_HEADER, *(part.packed for part in parts), trailer), SEGMENT_BYTES))
        return cls(parts, size, packed, sum(map(len, packed)))

    def plain(self) -> Iterator[bytes]:
        """Yield the plain bytes, in pieces to be sent."""
        return pieces_of(part.plain() for part in self.parts)


def pieces_of(parts: Iterable[bytes], small: int = SMALL_BYTES) -> Iterator[bytes]:
    """Yield the same bytes in pieces: parts below the size `small` are joined, and large ones are cut."""
    gathered: list[bytes] = []
    for part in parts:
        if len(part) < small:
            gathered.append(part)
        if gathered and (len(part) >= small or sum(map(len, gathered)) >= small):
            yield b"".join(gathered)
            gathered = []
        if len(part) >= small:
            yield from (part[begin : begin + LARGE_BYTES] for begin in range(0, len(part), LARGE_BYTES))
    if gathered:
        yield b"".join(gathered)


@dataclass(frozen=True, slots=True)
class Segment:
    """The joined chunks of neighbouring targets.

    Attributes:
        keys: the targets, in order.
        sizes: the number of bytes of each target, in the same order.
        part: the chunks.
        series: the number of series.
    """

    keys: Sequence[PollKey]
    sizes: "array[int]"
    part: Part
    series: int

    @classmethod
    def of(cls, keys: Sequence[PollKey], sizes: "array[int]", plain: bytes) -> "Segment":
        """Join and compress chunks."""
        # A line is a series: a line feed in a label value is escaped.
        return cls(keys, sizes, Part.of(plain), plain.count(b"\n"))

    def changed(self, changes: Iterable[tuple[PollKey, bytes]]) -> "list[Segment]":
        """Return the segments with changes, ordered by target: new chunks, or none in place of one to remove.

        The result is this segment if nothing differs from it, and no segment if nothing is left.
        """
        plain, starts = self.part.plain(), list(accumulate(self.sizes, initial=0))
        keys, sizes, pieces = list[PollKey](), array("I"), list[bytes]()
        done, differs = 0, False
        for key, chunk in changes:
            place = bisect_left(self.keys, key, done)
            after = place + (place < len(self.keys) and self.keys[place] == key)
            if plain[starts[place] : starts[after]] == chunk:
                continue
            keys += self.keys[done:place]
            sizes += self.sizes[done:place]
            pieces.append(plain[starts[done] : starts[place]])
            if chunk:
                keys.append(key)
                sizes.append(len(chunk))
                pieces.append(chunk)
            done, differs = after, True
        if not differs:
            return [self]
        keys += self.keys[done:]
        sizes += self.sizes[done:]
        pieces.append(plain[starts[done] :])
        return list(_segments(keys, sizes, b"".join(pieces)))

    def chunks(self, wanted: Callable[[PollKey], bool]) -> Iterator[bytes]:
        """Yield the chunks of wanted targets, in order."""
        bounds = list(accumulate(self.sizes, initial=0))
        found = [place for place, key in enumerate(self.keys) if wanted(key)]
        plain = self.part.plain() if found else b""
        return (plain[bounds[place] : bounds[place + 1]] for place in found)


def _segments(keys: Sequence[PollKey], sizes: "array[int]", plain: bytes) -> Iterator[Segment]:
    """Yield segments of so many chunks; those that are too large for one are about half full, so that they may grow."""
    step, begin = len(keys), 0
    if len(plain) > SEGMENT_BYTES:
        step = max(1, step * SEGMENT_BYTES // (2 * len(plain)))
    for place in range(0, len(keys), step or 1):
        own = sizes[place : place + step]
        end = begin + sum(own)
        yield Segment.of(keys[place : place + step], own, plain[begin:end])
        begin = end


_NO_CHUNKS = Segment((), array("I"), Part.of(b""), 0)


def with_changes(segments: Sequence[Segment], changes: Mapping[PollKey, bytes]) -> list[Segment]:
    """Return the segments of a family with changes, as `Segment.changed` takes them."""
    ordered = sorted(changes.items())
    bounds = (0, *(bisect_left(ordered, (segment.keys[0],)) for segment in segments[1:]), len(ordered))
    changed = list[Segment]()
    for segment, (begin, end) in zip(segments or [_NO_CHUNKS], pairwise(bounds), strict=True):
        changed += segment.changed(ordered[begin:end]) if begin < end else [segment]
    return [segment for segment in changed if segment.keys]
