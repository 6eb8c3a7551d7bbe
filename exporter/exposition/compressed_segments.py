"""Joins the chunks of a family (the sample lines of one target each) in segments of neighbouring targets.

A segment is compressed separately, and ends with a full flush. Because of this end, compressed segments can be joined
to one gzip member; its checksum is combined from the checksums of the segments (RFC 1951, RFC 1952).
"""

import struct
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from isal import isal_zlib

from exporter.targets.target import PollKey

# A segment with more plain bytes is split: if one target changes, the whole segment is compressed again.
SEGMENT_BYTES = 256 * 1024
DEFLATE_LEVEL = 1
# The argument that means deflate without a header and a checksum.
_RAW_DEFLATE = -15
# A header without a file name and a time; the last two bytes mean fastest compression and an unknown system.
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
# An empty block, which ends the compressed bytes.
_FINAL_BLOCK = b"\x03\x00"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an exposition, compressed up to a full flush, so that compressed parts can be joined.

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
        deflate = isal_zlib.compressobj(DEFLATE_LEVEL, isal_zlib.DEFLATED, _RAW_DEFLATE)
        packed = deflate.compress(plain) + deflate.flush(isal_zlib.Z_FULL_FLUSH)
        return cls(packed, isal_zlib.crc32(plain), len(plain))

    def plain(self) -> bytes:
        """Decompress and return the plain bytes, which are not kept, to save memory."""
        # A buffer without a spare byte would grow once more at the end, which takes longer than the decompression.
        return isal_zlib.decompress(self.packed + _FINAL_BLOCK, _RAW_DEFLATE, self.size + 1)


@dataclass(frozen=True, slots=True)
class Body:
    """A whole exposition in one format.

    Attributes:
        size: the number of plain bytes.
        packed: the exposition as one gzip member.
    """

    parts: Sequence[Part]
    size: int
    packed: bytes

    @classmethod
    def of(cls, parts: Sequence[Part]) -> "Body":
        """Join parts."""
        crc = size = 0
        for part in parts:
            crc = isal_zlib.crc32_combine(crc, part.crc, part.size)
            size += part.size
        # RFC 1952: the trailer has the size modulo 2**32.
        trailer = struct.pack("<II", crc, size & 0xFFFFFFFF)
        packed = b"".join((_GZIP_HEADER, *(part.packed for part in parts), _FINAL_BLOCK, trailer))
        return cls(parts, size, packed)

    def plain(self) -> Iterator[bytes]:
        """Yield the plain bytes in pieces of at least half a segment; the last piece may be shorter, or empty."""
        piece = b""
        for part in self.parts:
            piece += part.plain()
            if len(piece) >= SEGMENT_BYTES // 2:
                yield piece
                piece = b""
        yield piece


@dataclass(frozen=True, slots=True)
class Segment:
    """The joined chunks of a family for neighbouring targets.

    Attributes:
        keys: the targets, with their collectors, sorted.
        sizes: the number of bytes of each target's chunk, in the order of `keys`.
    """

    keys: list[PollKey]
    sizes: "array[int]"
    part: Part
    series: int

    @classmethod
    def of(cls, keys: list[PollKey], chunks: list[bytes]) -> "Segment":
        """Join the chunks of targets."""
        joined = b"".join(chunks)
        # A line is a series: a line feed in a label value is escaped.
        return cls(keys, array("I", map(len, chunks)), Part.of(joined), joined.count(b"\n"))

    def chunks(self, wanted: Callable[[PollKey], bool] = lambda _: True) -> list[bytes]:
        """Return the chunks of wanted targets, in order."""
        bounds = pairwise(accumulate(self.sizes, initial=0))
        found = [bound for key, bound in zip(self.keys, bounds, strict=True) if wanted(key)]
        plain = self.part.plain() if found else b""
        return [plain[begin:end] for begin, end in found]

    def with_changes(self, changes: Iterable[tuple[PollKey, bytes]]) -> "list[Segment]":
        """Return the segments that replace this one after changes (target, chunk). An empty chunk removes a target."""
        former = self.chunks()
        keys, chunks = list(self.keys), list(former)
        for key, chunk in changes:
            place = bisect_left(keys, key)
            if place < len(keys) and keys[place] == key:
                chunks[place] = chunk
            else:
                keys.insert(place, key)
                chunks.insert(place, chunk)
        if chunks == former:
            return [self]
        left = [key for key, chunk in zip(keys, chunks, strict=True) if chunk]
        return _split(left, [chunk for chunk in chunks if chunk])


def _split(keys: list[PollKey], chunks: list[bytes]) -> list[Segment]:
    size = sum(map(len, chunks))
    # At least 1, even without targets, because `range` refuses the step 0.
    per_segment = max(1, len(keys))
    if size > SEGMENT_BYTES:
        # The new segments are about half full, so that they can grow; a segment of one target may be larger.
        per_segment = max(1, len(keys) * SEGMENT_BYTES // (2 * size))
    begins = range(0, len(keys), per_segment)
    return [Segment.of(keys[begin : begin + per_segment], chunks[begin : begin + per_segment]) for begin in begins]


def with_changes(segments: Sequence[Segment], changes: Mapping[PollKey, bytes]) -> list[Segment]:
    """Return the segments of a family after changes: target → new chunk, sorted; an empty chunk removes the target."""
    keys, ordered = list(changes), list(changes.items())
    # A segment takes the remaining changes that come before the first target of the next segment.
    bounds = (0, *(bisect_left(keys, segment.keys[0]) for segment in segments[1:]), len(keys))
    changed = list[Segment]()
    # A family without segments begins with an empty segment.
    for segment, (begin, end) in zip(segments or [Segment.of([], [])], pairwise(bounds), strict=True):
        changed += segment.with_changes(ordered[begin:end]) if begin < end else [segment]
    return changed
