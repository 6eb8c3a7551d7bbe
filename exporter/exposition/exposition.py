"""Keeps the sample lines of targets, and joins them, with the program's own metrics, to the exposition in both formats.

A chunk has the sample lines of one family for one target; both formats have these lines. A segment joins the chunks of
one family for neighbouring targets, and is kept while none of these chunks changes.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client.registry import Collector

from exporter.exposition.compressed_segments import Body, Part, Segment, with_changes
from exporter.exposition.sample_lines import END, Format, encode, header, own_families
from exporter.exposition.store import Update
from exporter.metric import FamilyInfo, Kind
from exporter.targets.target import PollKey

__all__ = ["Exposition", "Filter", "Format", "Generation"]


@dataclass(frozen=True, slots=True)
class Generation:
    """An exposition that is ready to be sent.

    Attributes:
        bodies: format → the exposition.
        series: the number of the targets' series; series of the program's own metrics are not counted.
    """

    bodies: Mapping[Format, Body]
    series: int


@dataclass(frozen=True, slots=True)
class Filter:
    """Selects a part of an exposition; an empty set selects everything.

    Attributes:
        names: names of families, or of samples of the program's own families.
        targets: labels of targets, such as `dns_zone/102`.
        has_counters: whether counters of targets are selected.
    """

    names: frozenset[str] = frozenset()
    collectors: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    has_counters: bool = True

    def wants_family(self, info: FamilyInfo) -> bool:
        """Return whether a family is selected; a counter may be named without `_total`, as in OpenMetrics."""
        if info.kind is Kind.COUNTER and not self.has_counters:
            return False
        return not self.names or info.name in self.names or info.name.removesuffix("_total") in self.names

    def wants_key(self, key: PollKey) -> bool:
        """Return whether a target's chunks are selected."""
        if self.collectors and key.collector not in self.collectors:
            return False
        return not self.targets or key.target.label in self.targets


@dataclass(slots=True)
class _FamilyBlock:
    info: FamilyInfo
    headers: Mapping[Format, Part]
    segments: Sequence[Segment] = ()


@dataclass(eq=False, repr=False)
class Exposition:
    """Holds the chunks of the declared families. Several threads must not use it at the same time.

    Attributes:
        own: the registry of the program's own metrics; it must not contain `_created` samples.
    """

    own: Collector
    _admits: Callable[[str], bool] = lambda _: True
    _blocks: dict[str, _FamilyBlock] = field(default_factory=dict)

    def declare(self, families: Iterable[FamilyInfo], admits: Callable[[str], bool]) -> None:
        """Set the families that are exposed, and remove families that are not among them.

        Args:
            families: the families, in the order of the exposition; new and changed families have no chunks yet.
            admits: returns whether the family with this name is exposed.
        """
        self._admits = admits
        blocks: dict[str, _FamilyBlock] = {}
        for info in families:
            if not admits(info.name):
                continue
            block = self._blocks.get(info.name)
            if block is None or block.info != info:
                block = _FamilyBlock(info, {form: Part.of(header(info, form)) for form in Format})
            blocks[info.name] = block
        self._blocks = blocks

    def take(self, changes: Mapping[PollKey, Update]) -> None:
        """Replace the chunks of changed targets; chunks of families that are not declared are dropped."""
        chunks = defaultdict[str, dict[PollKey, bytes]](dict)
        # Sorted once for all families, because `with_changes` needs sorted chunks.
        for key, update in sorted(changes.items()):
            for name, chunk in update.items():
                if name in self._blocks:
                    chunks[name][key] = chunk
        for name, changed in chunks.items():
            self._blocks[name].segments = with_changes(self._blocks[name].segments, changed)

    def build(self) -> Generation:
        """Return a generation: the segments, and the program's own metrics with their current values."""
        own, bodies = own_families(self.own, self._admits), {}
        for form in Format:
            parts = []
            for block in self._blocks.values():
                if block.segments:
                    parts += [block.headers[form], *(segment.part for segment in block.segments)]
            bodies[form] = Body.of([*parts, Part.of(encode(own, form) + END[form])])
        series = sum(segment.series for block in self._blocks.values() for segment in block.segments)
        return Generation(bodies, series)

    def select(self, wanted: Filter, form: Format) -> bytes:
        """Return the part of the exposition that a filter selects."""
        pieces: list[bytes] = []
        for block in self._blocks.values():
            if wanted.wants_family(block.info):
                chunks = [chunk for segment in block.segments for chunk in segment.chunks(wanted.wants_key)]
                if chunks:
                    pieces += (block.headers[form].plain(), *chunks)
        # The program's own metrics belong to no collector and no target.
        if not wanted.collectors and not wanted.targets:
            pieces.append(encode(own_families(self.own, self._admits, wanted.names), form))
        return b"".join((*pieces, END[form]))
