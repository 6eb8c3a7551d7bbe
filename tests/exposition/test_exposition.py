"""The whole exposition: its content, its order, and the series that are left out."""

import gzip
from collections.abc import Iterable, Mapping
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client import Metric as WireMetric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.registry import Collector
from structlog.testing import capture_logs

from exporter.exposition.encoding import header, render
from exporter.exposition.exposition import Exposition, Filter, Format, Generation
from exporter.exposition.store import GONE, Update
from exporter.metric import Family, FamilyInfo, Kind, Sample, label_value
from exporter.targets.target import PollKey
from exporter.telemetry import WithoutCreated

WINDOW = FamilyInfo("edge_window_queries", "Queries.", Kind.GAUGE, "", ("zone_id",))
TYPES = FamilyInfo("edge_window_record_queries", "Queries by type.", Kind.GAUGE, "", ("zone_id", "record_type"))
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
        return Family(info, (Sample((zone,), value, 1770508800.0 if info is TOTAL else None),))
    return Family(info, tuple(Sample((zone, f"T{number}"), value + number) for number in range(count)))


def exposition(**options: object) -> Exposition:
    """Return an exposition of the families above."""
    made = Exposition(NothingOwn(), **options)  # type: ignore[arg-type]
    made.declare(INFOS)
    return made


def text(generation: Generation, form: Format = Format.TEXT) -> str:
    """Return a generation's plain bytes."""
    return b"".join(generation.bodies[form].pieces).decode()


State = Mapping[PollKey, Mapping[str, Family]]


def naive(state: State, form: Format, wanted: Filter = Filter(), *, created: bool = False) -> bytes:  # noqa: B008
    """A simple model of the exposition: every family once, its targets in order."""
    parts = []
    for info in INFOS:
        keys = [known for known in sorted(state) if info.name in state[known] and wanted.wants_key(known)]
        if keys and (not wanted.names or info.name in wanted.names):
            parts.append(header(info, form))
            is_created = created and form is Format.OPENMETRICS
            parts.extend(render(state[known][info.name], form, created=is_created) for known in keys)
    return b"".join(parts) + (b"# EOF\n" if form is Format.OPENMETRICS else b"")


def test_text_byte_by_byte() -> None:
    made = exposition(created=True)
    made.take({key(9): Update((family(WINDOW, "9"), family(TOTAL, "9", 3.0), family(DAY, "9", 86400.0)))})
    made.take({key(10): Update((family(WINDOW, "10", 2.5),))})
    assert text(made.build()) == (
        "# HELP edge_window_queries Queries.\n"
        "# TYPE edge_window_queries gauge\n"
        'edge_window_queries{zone_id="9"} 1.0\n'
        'edge_window_queries{zone_id="10"} 2.5\n'
        "# HELP edge_day_start_timestamp_seconds A day.\n"
        "# TYPE edge_day_start_timestamp_seconds gauge\n"
        'edge_day_start_timestamp_seconds{zone_id="9"} 86400.0\n'
        "# HELP edge_queries_total Queries since then.\n"
        "# TYPE edge_queries_total counter\n"
        'edge_queries_total{zone_id="9"} 3.0\n'
    )


@pytest.mark.parametrize(
    ("created", "line"), [(True, 'edge_queries_created{zone_id="9"} 1.7705088e+09\n'), (False, "")]
)
def test_openmetrics_byte_by_byte(line: str, *, created: bool) -> None:
    made = exposition(created=created)
    made.take({key(9): Update((family(WINDOW, "9"), family(TOTAL, "9", 3.0), family(DAY, "9", 86400.0)))})
    assert text(made.build(), Format.OPENMETRICS) == (
        "# HELP edge_window_queries Queries.\n"
        "# TYPE edge_window_queries gauge\n"
        'edge_window_queries{zone_id="9"} 1.0\n'
        "# HELP edge_day_start_timestamp_seconds A day.\n"
        "# TYPE edge_day_start_timestamp_seconds gauge\n"
        "# UNIT edge_day_start_timestamp_seconds seconds\n"
        'edge_day_start_timestamp_seconds{zone_id="9"} 86400.0\n'
        "# HELP edge_queries Queries since then.\n"
        "# TYPE edge_queries counter\n"
        'edge_queries_total{zone_id="9"} 3.0\n' + line + "# EOF\n"
    )


@st.composite
def changes(draw: st.DrawFn) -> tuple[PollKey, Update]:
    """Return a change: a target that was polled, that failed, or that was removed."""
    number, collector = draw(st.integers(0, 12)), draw(st.sampled_from(["scans", "statistics"]))
    known = key(number, collector, draw(st.sampled_from(["main", "other"])))
    if draw(st.booleans()):
        return known, GONE
    zone = label_value(draw(st.text(max_size=4))) + f"/{known.target.account}/{collector}/{number}"
    infos = draw(st.lists(st.sampled_from(INFOS), unique=True, max_size=4))
    values = st.floats(min_value=0, allow_nan=False, allow_infinity=False) | st.integers(0, 10**9).map(float)
    families = tuple(family(info, zone, draw(values), draw(st.integers(0, 3))) for info in infos)
    return known, Update(families, whole=draw(st.booleans()))


def applied(state: dict[PollKey, dict[str, Family]], known: PollKey, update: Update) -> None:
    """Apply a change to the simple model."""
    held = {} if update.whole else state.get(known, {})
    held = {**held, **{each.info.name: each for each in update.families}}
    state[known] = {name: each for name, each in held.items() if each.samples}


@given(st.lists(st.lists(changes(), max_size=6), max_size=8), st.booleans())
def test_whatever_changes_the_exposition_is_what_a_naive_rendering_gives(
    turns: list[list[tuple[PollKey, Update]]],
    created: bool,  # noqa: FBT001 - drawn
) -> None:
    state: dict[PollKey, dict[str, Family]] = {}
    with (
        patch("exporter.exposition.segments.SEGMENT_BYTES", 200),
        patch("exporter.exposition.segments.SMALL_BYTES", 50),
    ):
        made = exposition(created=created)
        for turn in turns:
            for known, update in turn:
                applied(state, known, update)
                made.take({known: update})
            generation = made.build()
            for form in Format:
                expected = naive(state, form, created=created)
                assert b"".join(generation.bodies[form].pieces) == expected
                assert gzip.decompress(generation.bodies[form].gzip) == expected
        generation = made.build()
    assert generation.series == sum(len(each.samples) for families in state.values() for each in families.values())
    assert_well_formed(generation)


def assert_well_formed(generation: Generation) -> None:
    """Check that both formats can be parsed, and that families and series are unique and have their types."""
    for form, parse in ((Format.TEXT, parse_text), (Format.OPENMETRICS, parse_openmetrics)):
        families = list(parse(text(generation, form)))
        types = {each.name: each.type for each in families}
        assert len(types) == len(families)
        kinds = {info.name.removesuffix("_total"): info.kind.value for info in INFOS}
        assert {name: kinds[name] for name in types} == types
        series = [(sample.name, *sorted(sample.labels.items())) for each in families for sample in each.samples]
        assert len(set(series)) == len(series)


FILTERS = st.builds(
    Filter,
    st.frozensets(st.sampled_from([info.name for info in INFOS]), max_size=2),
    st.frozensets(st.sampled_from(["scans", "statistics"]), max_size=1),
    st.frozensets(st.sampled_from([f"dns_zone/{number}" for number in range(13)]), max_size=3),
)


@given(st.lists(changes(), max_size=30), FILTERS)
def test_a_filter_gives_what_a_naive_filter_gives(made_changes: list[tuple[PollKey, Update]], wanted: Filter) -> None:
    state: dict[PollKey, dict[str, Family]] = {}
    made = exposition(created=True)
    for known, update in made_changes:
        applied(state, known, update)
        made.take({known: update})
    assert [made.select(wanted, form) for form in Format] == [
        naive(state, form, wanted, created=True) for form in Format
    ]


def own_metrics() -> CollectorRegistry:
    """Two of the program's own families."""
    registry = CollectorRegistry()
    Counter("edge_api_requests", "Requests.", registry=registry).inc()
    Gauge("edge_exporter_series", "Series.", registry=registry).set(4)
    return registry


def names(exposed: bytes | str) -> list[str]:
    """Return the families of a text, in order."""
    reported = exposed if isinstance(exposed, str) else exposed.decode()
    return [line.split()[2] for line in reported.splitlines() if line.startswith("# TYPE")]


def test_own_metrics_come_last_and_belong_to_no_collector_and_no_target() -> None:
    made = Exposition(WithoutCreated(own_metrics()))
    made.declare(INFOS)
    made.take({key(9): Update((family(WINDOW, "9"),))})
    assert names(text(made.build())) == ["edge_window_queries", "edge_api_requests_total", "edge_exporter_series"]
    assert names(made.select(Filter(collectors=frozenset({"statistics"})), Format.TEXT)) == ["edge_window_queries"]
    assert names(made.select(Filter(targets=frozenset({"dns_zone/9"})), Format.TEXT)) == ["edge_window_queries"]
    assert names(made.select(Filter(frozenset({"edge_exporter_series"})), Format.TEXT)) == ["edge_exporter_series"]


def test_own_metrics_stand_as_they_were_unless_they_are_asked_for() -> None:
    registry = CollectorRegistry()
    gauge = Gauge("edge_exporter_series", "Series.", registry=registry)
    made = Exposition(WithoutCreated(registry))
    made.build()
    gauge.set(7)
    reported = [text(made.build(own=own)).splitlines()[-1] for own in (False, True, False)]
    assert reported == ["edge_exporter_series 0.0", "edge_exporter_series 7.0", "edge_exporter_series 7.0"]


def test_what_is_not_admitted_is_not_exposed_whosever_it_is() -> None:
    made = Exposition(
        WithoutCreated(own_metrics()), admits=lambda name: name not in (WINDOW.name, "edge_api_requests_total")
    )
    made.declare(INFOS)
    made.take({key(9): Update((family(WINDOW, "9"), family(DAY, "9")))})
    generation = made.build()
    assert names(text(generation)) == ["edge_day_start_timestamp_seconds", "edge_exporter_series"]
    assert generation.series == 1
    everything = made.select(Filter(frozenset({WINDOW.name, "edge_api_requests"})), Format.TEXT)
    assert everything == b""


def test_other_families_are_admitted_at_once_or_with_their_targets_next_polls() -> None:
    made = exposition(admits=lambda name: name != DAY.name)
    polled = {key(9): Update((family(WINDOW, "9"), family(DAY, "9")))}
    made.take(polled)
    made.govern(1_000_000, lambda name: name != WINDOW.name, created=False)
    made.declare(INFOS)
    assert text(made.build()) == ""
    made.take(polled)
    assert names(text(made.build())) == [DAY.name]


def test_a_lower_cap_is_kept_to_once_each_target_was_polled() -> None:
    made = exposition()
    polled = {key(number): Update((family(WINDOW, str(number)),)) for number in range(3)}
    made.take(polled)
    made.govern(1, lambda _: True, created=False)
    made.declare(INFOS)
    made.take(polled)
    generation = made.build()
    assert (generation.series, generation.dropped) == (1, {WINDOW.name: 2})


def test_created_is_taken_up_without_losing_a_sample_and_left_again() -> None:
    made = exposition()
    polled = {key(number): Update((family(TOTAL, str(number)),)) for number in range(3)}
    made.take(polled)
    before = text(made.build(), Format.OPENMETRICS)
    made.govern(1_000_000, lambda _: True, created=True)
    made.declare(INFOS)
    assert text(made.build(), Format.OPENMETRICS) == before
    made.take(polled)
    assert text(made.build(), Format.OPENMETRICS).count("_created{") == 3
    made.govern(1_000_000, lambda _: True, created=False)
    made.declare(INFOS)
    assert text(made.build(), Format.OPENMETRICS) == before


def test_a_family_that_is_declared_no_more_is_gone_and_others_stand() -> None:
    made = exposition()
    made.take({key(9): Update((family(WINDOW, "9"), family(DAY, "9")))})
    made.declare((DAY, TOTAL))
    assert names(text(made.build())) == ["edge_day_start_timestamp_seconds"]
    made.take({key(9): GONE})
    assert text(made.build()) == ""


def test_a_family_whose_help_changes_has_the_new_one_from_its_targets_next_polls_on() -> None:
    made = exposition()
    made.take({key(9): Update((family(WINDOW, "9"),))})
    reworded = replace(WINDOW, help="Queries in other words.")
    made.declare((reworded,))
    assert text(made.build()) == ""
    made.take({key(9): Update((family(reworded, "9", 2.0),))})
    assert text(made.build()) == (
        "# HELP edge_window_queries Queries in other words.\n"
        "# TYPE edge_window_queries gauge\n"
        'edge_window_queries{zone_id="9"} 2.0\n'
    )


def test_the_cap_leaves_whole_targets_out_and_says_how_many_series() -> None:
    made = exposition(cap=5)
    for number in range(3):
        made.take({key(number): Update((family(TYPES, str(number), count=2), family(WINDOW, str(number))))})
    generation = made.build()
    lines = [line for line in text(generation).splitlines() if 'zone_id="2"' in line]
    assert lines == ['edge_window_queries{zone_id="2"} 1.0']
    assert (generation.series, generation.dropped) == (7, {TYPES.name: 2})


def test_a_target_that_grows_past_the_cap_is_left_out_whole() -> None:
    made = exposition(cap=3)
    made.take({key(1): Update((family(TYPES, "1", count=2),))})
    made.take({key(1): Update((family(TYPES, "1", count=4),))})
    generation = made.build()
    assert (text(generation), generation.series, generation.dropped) == ("", 0, {TYPES.name: 4})


def test_what_the_cap_left_out_comes_back_with_its_next_poll_once_there_is_room() -> None:
    made = exposition(cap=2)
    polls = {number: Update((family(TYPES, str(number), count=2),)) for number in (1, 2)}
    for number, poll in polls.items():
        made.take({key(number): poll})
    made.take({key(1): GONE})
    before = made.build()
    made.take({key(2): polls[2]})
    after = made.build()
    assert (before.series, before.dropped) == (0, {TYPES.name: 2})
    assert (after.series, after.dropped) == (2, {})


def test_a_family_that_cannot_be_rendered_takes_nothing_else_with_it() -> None:
    made = exposition()
    broken = Family(WINDOW, (Sample(("9", "one too many"), 1.0),))
    with capture_logs() as logs:
        made.take({key(9): Update((broken, family(DAY, "9"))), key(10): Update((family(WINDOW, "10"),))})
    assert names(text(made.build())) == ["edge_window_queries", "edge_day_start_timestamp_seconds"]
    assert [(log["event"], log["family"], log["target"]) for log in logs] == [
        ("family cannot be rendered", "edge_window_queries", "dns_zone/9")
    ]


def test_others_are_given_way_between_targets_and_between_segments() -> None:
    made = exposition()
    times: list[int] = []
    made.take({key(number): Update((family(WINDOW, str(number)),)) for number in range(5)}, lambda: times.append(1))
    taken = len(times)
    made.build(lambda: times.append(1))
    assert taken == 5
    assert len(times) > taken


def test_only_segments_that_changed_are_joined_again_and_both_formats_share_them() -> None:
    with (
        patch("exporter.exposition.segments.SEGMENT_BYTES", 1000),
        patch("exporter.exposition.segments.SMALL_BYTES", 250),
    ):
        made = exposition()
        bodies = []
        for value in (1.0, 1.0, 2.0):
            made.take({key(number): Update((family(WINDOW, str(number), 1.0),)) for number in range(100)})
            made.take({key(50): Update((family(WINDOW, "50", value),))})
            bodies.append(made.build().bodies)
    # Smaller pieces hold the headers.
    segments = [{id(piece) for piece in each[Format.TEXT].pieces if len(piece) >= 250} for each in bodies]
    assert len(segments[0]) > 3
    assert segments[0] <= {id(piece) for piece in bodies[0][Format.OPENMETRICS].pieces}
    assert (len(segments[1] - segments[0]), len(segments[2] - segments[1])) == (0, 1)


def test_a_target_that_is_gone_is_not_counted_as_left_out() -> None:
    made = exposition(cap=1)
    made.take({key(1): Update((family(TYPES, "1", count=2),))})
    assert made.build().dropped == {TYPES.name: 2}
    made.take({key(1): GONE})
    assert made.build().dropped == {}
