"""Chunks that are joined and compressed in segments."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from exporter.exposition.segments import Body, FamilyChunks, Part, Segment, gather, join
from exporter.targets.target import PollKey


def key(number: int, collector: str = "dns_statistics") -> PollKey:
    """Return the key of a zone."""
    return PollKey.of(collector, "main", "dns_zone", str(number))


def plain(family: FamilyChunks) -> bytes:
    """Return all chunks of a family, joined by its segments."""
    return b"".join(part.plain for part in family.parts())


@contextmanager
def segments_of(size: int) -> Iterator[None]:
    """Use small segments, so that few chunks fill many of them."""
    with (
        patch("exporter.exposition.segments.SEGMENT_BYTES", size),
        patch("exporter.exposition.segments.SMALL_BYTES", size // 4),
    ):
        yield


def body_of(chunks: list[bytes], size: int) -> Body:
    """Return a body with one family."""
    with segments_of(size):
        family = FamilyChunks()
        for number, chunk in enumerate(chunks):
            family.put(key(number), chunk, 1)
        return join([Part.of(b"# head\n"), *family.parts()])


Step = tuple[int, bytes | None, bool]
STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.tuples(st.integers(0, 40), st.none() | st.binary(min_size=1, max_size=12), st.booleans()), max_size=80
)


@given(STEPS)
def test_a_shelf_is_its_chunks_in_the_order_of_their_targets(steps: list[Step]) -> None:
    held: dict[PollKey, bytes] = {}
    with segments_of(40):
        family = FamilyChunks()
        for number, chunk, builds in steps:
            if chunk is None:
                held.pop(key(number), None)
                family.remove(key(number))
            else:
                held[key(number)] = chunk
                family.put(key(number), chunk, len(chunk))
            if builds:
                assert plain(family) == b"".join(held[known] for known in sorted(held))
            assert family.total == sum(map(len, held.values()))
            assert [family.series(known) for known in held] == [len(chunk) for chunk in held.values()]
        assert list(family.select(lambda known: known.target.number % 2 == 0)) == [
            held[known] for known in sorted(held) if known.target.number % 2 == 0
        ]
        body = join(list(family.parts()))
        expected = b"".join(held[known] for known in sorted(held))
        assert (b"".join(body.pieces), body.size) == (expected, len(expected))
        assert (gzip.decompress(body.gzip), body.packed_size) == (expected, len(body.gzip))


def test_many_segments_make_one_gzip_member() -> None:
    chunks = [b'edge_x{zone_id="%d"} %d\n' % (number, number * 7919) for number in range(5000)]
    body = body_of(chunks, 1000)
    reader = zlib.decompressobj(wbits=31)
    text = b"".join(reader.decompress(body.gzip[start : start + 100]) for start in range(0, body.packed_size, 100))
    assert text == b"# head\n" + b"".join(chunks)
    assert (reader.eof, reader.unused_data) == (True, b"")


def test_an_empty_body_is_a_gzip_member_too() -> None:
    assert gzip.decompress(join([]).gzip) == b""
    assert gzip.decompress(join([Part.of(b"")]).gzip) == b""


def test_an_earlier_body_stands_when_its_segments_change() -> None:
    family = FamilyChunks()
    family.put(key(1), b"one 1\n", 1)
    earlier = join(list(family.parts()))
    family.put(key(1), b"one 2\n", 1)
    later = join(list(family.parts()))
    assert [b"".join(body.pieces) for body in (earlier, later)] == [b"one 1\n", b"one 2\n"]


def test_a_change_costs_one_segment_and_no_change_costs_none() -> None:
    with segments_of(100):
        family = FamilyChunks()
        for number in range(100):
            family.put(key(number), b"%010d" % number, 1)
        before = list(family.parts())
        family.put(key(50), b"%010d" % 50, 1)
        assert [part is old for part, old in zip(family.parts(), before, strict=True)] == [True] * len(before)
        family.put(key(50), b"9999999999", 1)
        assert [part is old for part, old in zip(family.parts(), before, strict=True)].count(False) == 1


def test_bodies_share_the_bytes_of_their_segments() -> None:
    with segments_of(100):
        segment = Segment([key(1)], [b"x" * 200], [1])
        bodies = [join([Part.of(head), segment.part()]) for head in (b"# text\n", b"# openmetrics\n")]
    assert bodies[0].pieces[-1] is bodies[1].pieces[-1]


@given(st.lists(st.binary(max_size=30), max_size=30), st.integers(1, 40))
def test_gathering_keeps_every_byte_and_leaves_no_two_small_pieces_together(pieces: list[bytes], size: int) -> None:
    gathered = list(gather(pieces, size))
    assert b"".join(gathered) == b"".join(pieces)
    assert all(len(one) >= size or len(other) >= size for one, other in pairwise(gathered))
