"""The whole exposition: its content, its order, and the series that are left out."""

import gzip
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric as WireMetric
from prometheus_client.registry import Collector
from structlog.testing import capture_logs

from exporter.exposition.exposition import Exposition, Filter, Format, Generation
from exporter.exposition.sample_lines import header, render
from exporter.exposition.store import Store, Update
from exporter.label_values import label_value
from exporter.metric import Family, FamilyInfo, Kind, Sample
from exporter.targets.target import PollKey
from tests.golden import assert_golden

WINDOW = FamilyInfo("edge_window_queries", "Queries.", Kind.GAUGE, "", ("zone_id",))
TYPES = FamilyInfo("edge_window_record_queries", 'By "type" \\\n.', Kind.GAUGE, "", ("zone_id", "record_type"))
DAY = FamilyInfo("edge_day_start_timestamp_seconds", "A day.", Kind.GAUGE, "seconds", ("zone_id",))
TOTAL = FamilyInfo("edge_queries_total", "Queries since then.", Kind.COUNTER, "", ("zone_id",))
INFOS = (WINDOW, TYPES, DAY, TOTAL)


class NothingOwn(Collector):
    """A program without its own metrics."""

    def collect(self) -> Iterable[WireMetric]:
        """Return no family."""
        return ()


def key(number: int, collector: str = "statistics", account: str = "main") -> PollKey:
    """Return a zone's target."""
    return PollKey.of(collector, account, "dns_zone", str(number))


def family(info: FamilyInfo, zone: str, value: float = 1.0, count: int = 1) -> Family:
    """Return a family of one zone."""
    if len(info.labels) == 1:
        return Family(info, (Sample((zone,), value),))
    return Family(info, tuple(Sample((zone, f"T{number}"), value + number) for number in range(count)))


def of(*families: Family) -> Update:
    """Return a change of these families."""
    return {family.info.name: render(family) for family in families}


def exposition() -> Exposition:
    """Return an exposition of the families above."""
    made = Exposition(NothingOwn())
    made.declare(INFOS, lambda _: True)
    return made


def text(generation: Generation, form: Format = Format.TEXT) -> str:
    """Return a generation's plain bytes."""
    return b"".join(generation.bodies[form].plain()).decode()


State = Mapping[PollKey, Update]


def naive(state: State, form: Format, wanted: Filter = Filter()) -> bytes:  # noqa: B008
    """A simple model of the exposition: every family once, its targets in order."""
    parts = []
    for info in INFOS:
        keys = [
            known
            for known in sorted(state)
            if info.name in state[known]
            and (not wanted.collectors or known.collector in wanted.collectors)
            and (not wanted.targets or known.target.label in wanted.targets)
        ]
        if keys and (not wanted.names or info.name in wanted.names):
            parts.append(header(info, form))
            parts.extend(state[known][info.name] for known in keys)
    return b"".join(parts) + (b"# EOF\n" if form is Format.OPENMETRICS else b"")


def test_the_exposition_is_sent_byte_by_byte_as_recorded() -> None:
    """Also a family whose help changes: it has the new one from its targets' next polls on."""
    made = exposition()
    made.take({key(9): of(family(WINDOW, "9"), family(TOTAL, "9", 3.0), family(DAY, "9", 86400.0))})
    made.take({key(10): of(family(WINDOW, "10", 2.5), family(TYPES, "10", count=2))})
    shown = "".join(f"--- {form.name}\n{text(made.build(), form)}" for form in Format)
    reworded = replace(WINDOW, help="Queries in other words.")
    made.declare((reworded,), lambda _: True)
    shown += f"--- with another help\n{text(made.build())}"
    made.take({key(9): of(family(reworded, "9", 2.0))})
    shown += f"--- and polled\n{text(made.build())}"
    assert_golden(shown, Path(__file__).parent / "exposition.txt")


@st.composite
def changes(draw: st.DrawFn) -> tuple[PollKey, Update]:
    """Return a change: a target that was polled, that failed, or that was removed."""
    number, collector = draw(st.integers(0, 12)), draw(st.sampled_from(["scans", "statistics"]))
    known = key(number, collector, draw(st.sampled_from(["main", "other"])))
    if draw(st.booleans()):
        return known, dict.fromkeys((info.name for info in INFOS), b"")
    zone = label_value(draw(st.text(max_size=4))) + f"/{known.target.account}/{collector}/{number}"
    infos = draw(st.lists(st.sampled_from(INFOS), unique=True, max_size=4))
    values = st.floats(min_value=0, allow_nan=False, allow_infinity=False) | st.integers(0, 10**9).map(float)
    families = tuple(family(info, zone, draw(values), draw(st.integers(0, 3))) for info in infos)
    gone = draw(st.sets(st.sampled_from([info.name for info in INFOS])))
    return known, {**dict.fromkeys(gone, b""), **of(*families)}


def applied(state: dict[PollKey, Update], known: PollKey, update: Update) -> None:
    """Apply a change to the simple model."""
    held = {**state.get(known, {}), **update}
    state[known] = {name: lines for name, lines in held.items() if lines}


@given(st.lists(st.lists(changes(), max_size=6), max_size=8))
def test_whatever_changes_the_exposition_is_what_a_naive_rendering_gives(
    turns: list[list[tuple[PollKey, Update]]],
) -> None:
    state: dict[PollKey, Update] = {}
    with patch("exporter.exposition.compressed_segments.SEGMENT_BYTES", 200):
        made = exposition()
        for turn in turns:
            for known, update in turn:
                applied(state, known, update)
                made.take({known: update})
            generation = made.build()
            for form in Format:
                expected = naive(state, form)
                assert b"".join(generation.bodies[form].plain()) == expected
                assert gzip.decompress(generation.bodies[form].packed) == expected
        series = made.build().series
    assert series == sum(lines.count(b"\n") for held in state.values() for lines in held.values())


FILTERS = st.builds(
    Filter,
    st.frozensets(st.sampled_from([info.name for info in INFOS]), max_size=2),
    st.frozensets(st.sampled_from(["scans", "statistics"]), max_size=1),
    st.frozensets(st.sampled_from([f"dns_zone/{number}" for number in range(13)]), max_size=3),
)


@given(st.lists(changes(), max_size=30), FILTERS)
def test_a_filter_gives_what_a_naive_filter_gives(made_changes: list[tuple[PollKey, Update]], wanted: Filter) -> None:
    state: dict[PollKey, Update] = {}
    made = exposition()
    for known, update in made_changes:
        applied(state, known, update)
        made.take({known: update})
    assert [made.select(wanted, form) for form in Format] == [naive(state, form, wanted) for form in Format]


def test_a_family_that_cannot_be_rendered_takes_nothing_else_with_it() -> None:
    made, store = exposition(), Store(lambda: 0.0, lambda: 0.0, lambda *_: 0.0, lambda *_: 0.0)
    broken = Family(WINDOW, (Sample(("9", "one too many"), 1.0),))
    without_a_number: Any = Sample(("9", "A"), None)  # type: ignore[arg-type]
    with capture_logs() as logs:
        store.change(key(9), (broken, Family(TYPES, (without_a_number,)), family(DAY, "9")))
        store.change(key(10), (family(WINDOW, "10"),))
    made.take(store.take_changes())
    assert re.findall("# TYPE (.*) gauge", text(made.build())) == [WINDOW.name, DAY.name]
    assert [(log["event"], log["family"], log["target"]) for log in logs] == [
        ("family cannot be rendered", name, "dns_zone/9") for name in (WINDOW.name, TYPES.name)
    ]
