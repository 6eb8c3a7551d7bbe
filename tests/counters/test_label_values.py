"""Label values that come, leave and return, and declarations that change: random polls against a plain model.

The ledger runs on a state file, and is opened again between polls. The model keeps each label value's polls since it
began, and computes the counter from all of them with `reference.py`.
"""

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from exporter.counters.ledger import ZERO_SECONDS, PollRecord
from exporter.counters.rows import unpack
from exporter.metric import Count, DayBuckets, FamilyInfo, Kind, MonthToDate, Source, declaration
from tests.counters.ledger_driver import FIRST_SIGHT, LedgerDriver, key_of
from tests.counters.reference import Days, Month, days_counter, may_be_clipped, month_counter
from tests.platform.clients import FakeClock

BYTES = FamilyInfo("edge_thing_bytes_total", "Bytes.", Kind.COUNTER, "", ("account", "thing_id", "region"))
KEY = key_of("102")
DAY = 86_400.0
RETENTION = 2 * DAY
REGIONS = ("eu", "us", "asia")


def declared(scale: float) -> bytes:
    """Return the declaration of a counter with this scale."""
    return declaration(("/thing", "days", "Charts", "region", repr(scale)))


class Model:
    """The counters of one family by label value."""

    def __init__(self) -> None:
        self.declared: bytes | None = None
        self.since = 0
        self.polls: dict[str, list[Days | Month]] = {}
        self.left: dict[str, datetime] = {}
        # Whether it is 0 because it counts something else now, and since when this process has served that.
        self.is_anew = False
        self.zero_since: datetime | None = None

    def value(self, region: str) -> Fraction:
        """Return the served counter of a label value that has been in a poll."""
        return Fraction(0) if self.is_anew else counted(self.polls[region])

    def poll(self, shown: Mapping[str, Days | Month] | None, now: datetime, declared: bytes) -> None:
        """Take in a poll; None where the map was not read."""
        if self.zero_since is not None and (now - self.zero_since).total_seconds() >= ZERO_SECONDS:
            self.is_anew = False
        if shown is not None:
            begins = self.declared != declared
            if begins:
                self.is_anew = self.declared is not None
                self.declared, self.since, self.polls, self.left = declared, now.toordinal(), {}, {}
            for region, poll in shown.items():
                if region not in self.polls:
                    self.polls[region] = [] if begins else self._beginning(poll, now)
                self.polls[region].append(poll)
        self.zero_since = (self.zero_since or now) if self.is_anew and shown else None
        for region in self.polls:
            if region in (shown or {}):
                self.left.pop(region, None)
            else:
                self.left.setdefault(region, now)
        for region in [region for region, since in self.left.items() if (now - since).total_seconds() >= RETENTION]:
            self.since = max(self.since, following(self.polls.pop(region)))
            del self.left[region]

    def _beginning(self, poll: Days | Month, now: datetime) -> list[Days | Month]:
        """Return the poll in which a later label value would have been 0; none if its first value is the baseline."""
        first = datetime.fromordinal(self.since).replace(tzinfo=UTC)
        if isinstance(poll, Days):
            return [Days(first, {self.since - 100: 0})]
        is_full = (now.year, now.month) >= (first.year, first.month)
        return [Month(now, 0.0, now.timestamp())] if is_full else []


def counted(polls: list[Days | Month]) -> Fraction:
    """Return the counter of these polls; 0 before the first."""
    days = [poll for poll in polls if isinstance(poll, Days)]
    months = [poll for poll in polls if isinstance(poll, Month)]
    return Fraction(days_counter(days) if days else 0) + (month_counter(months) if months else 0)


def following(polls: list[Days | Month]) -> int:
    """Return the first day that is not counted yet."""
    if isinstance(polls[-1], Month):
        last = polls[-1].now
        return date(last.year + last.month // 12, last.month % 12 + 1, 1).toordinal()
    days = [poll for poll in polls if isinstance(poll, Days)]
    first = days[0].now.toordinal()
    return 1 + max((day for poll in days for day in poll.shown if not may_be_clipped(day, poll, first)), default=0)


@dataclass(frozen=True)
class Step:
    """What happens before a poll, and its answer.

    Attributes:
        hours: the time since the last poll.
        counts: label value → days before today → count, of which months use the sum; None if the map is not read.
    """

    hours: int
    restarts: bool
    scale: float
    counts: Mapping[str, Mapping[int, int]] | None


CHARTS = st.dictionaries(st.integers(0, 9), st.integers(0, 99), min_size=1, max_size=4)
STEP = st.builds(
    Step,
    hours=st.sampled_from([0, 1, 6, 24, 30, 49]),
    restarts=st.booleans(),
    scale=st.sampled_from([1.0, 1.0, 1.0, 1000.0]),
    counts=st.none() | st.dictionaries(st.sampled_from(REGIONS), CHARTS),
)


def sources_of(
    step: Step, now: datetime, grown: dict[str, float], *, is_month: bool
) -> dict[str, tuple[Source, Days | Month]]:
    """Return the source of each label value, and the same for the model."""
    found: dict[str, tuple[Source, Days | Month]] = {}
    oldest = min((now.toordinal() - back for counts in (step.counts or {}).values() for back in counts), default=None)
    for region, counts in (step.counts or {}).items():
        if is_month:
            # A month of a thousand and one of tens: its end is a fall that every poll believes.
            grown[region] = grown.get(region, 0) + sum(counts.values()) / 1000
            value = grown[region] + (1000 if now.month == FIRST_SIGHT.month else 10)
            found[region] = MonthToDate(value), Month(now, value, now.timestamp())
        else:
            days = {now.toordinal() - back: count for back, count in counts.items()}
            found[region] = DayBuckets(days), Days(now, days, oldest)
    return found


def play(path: Path, steps: list[Step], *, is_month: bool) -> None:
    """Poll as the steps say; compare each answer with the model."""
    model, now, clock = Model(), FIRST_SIGHT, FakeClock()
    grown: dict[str, float] = {}
    driver: LedgerDriver | None = None
    with ExitStack() as life:
        for step in steps:
            now += timedelta(hours=step.hours)
            clock.now = now.timestamp()
            if driver is None or step.restarts:
                life.close()
                driver = LedgerDriver(path, monotonic=clock, retention=RETENTION)
                life.enter_context(driver)
                model.zero_since = None
            found = sources_of(step, now, grown, is_month=is_month)
            sources = tuple(((region,), source) for region, (source, _) in found.items())
            count = Count(BYTES, ("main", "102"), sources, declared(step.scale))
            counts = () if step.counts is None else (count,)
            (families,) = driver.record(PollRecord(KEY, "x", now.timestamp(), counts, now))
            shown = None if step.counts is None else {region: poll for region, (_, poll) in found.items()}
            model.poll(shown, now, declared(step.scale))
            served = {sample.values[-1]: sample.value for family in families for sample in family.samples}
            assert served == {region: pytest.approx(float(model.value(region)), abs=1e-9) for region in found}
            stored = unpack(driver.ledger.remembered()[KEY].data).get(BYTES.name)
            assert {labels[0] for labels in (stored.series if stored is not None else ())} == set(model.polls)


@pytest.mark.parametrize("is_month", [False, True], ids=["days", "months"])
@given(steps=st.lists(STEP, min_size=3, max_size=14))
def test_each_label_value_counts_what_the_plain_model_says(*, is_month: bool, steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder, capture_logs():
        play(Path(folder) / "state.db", steps, is_month=is_month)
