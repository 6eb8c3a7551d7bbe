import json
from datetime import UTC, datetime

import pytest

from exporter.collectors.shield_rate_limits import COLLECTOR
from exporter.metric import DayBuckets
from exporter.platform.errors import EnvelopeError
from exporter.targets.target import Target
from tests.collectors.polls import assert_as_in_file, exposed, poll, samples

LIMIT = Target("main", "rate_limit", "55", "login", attributes={"shield_zone_id": "3"})
LABELS = 'rate_limit="login",rate_limit_id="55",shield_zone_id="3"'


def counts(logged: int | None, challenged: int | None, blocked: int | None) -> dict[str, int | None]:
    """Return the counts of a day, or of the whole window."""
    total = sum(count or 0 for count in (logged, challenged, blocked))
    return {
        "totalBreaches": total,
        "loggedBreaches": logged,
        "challengedBreaches": challenged,
        "blockedBreaches": blocked,
    }


def metrics(overview: object, days: object) -> str:
    data = {"overview": overview, "ratelimitOverviewPastTwentyEightDays": days}
    return json.dumps({"data": data, "error": {"statusCode": 0, "success": False, "message": None, "errorKey": None}})


async def today(days: object, date: datetime | None = None) -> list[str]:
    """Return the samples of today's breaches: action and value."""
    polled = await poll(COLLECTOR, LIMIT, metrics(None, days), date=date)
    lines = samples(exposed(COLLECTOR, polled), "edge_shield_rate_limit_day_breaches")
    return [line.partition('action="')[2].replace(f'",{LABELS}}}', "") for line in lines]


async def test_a_rate_limits_breaches() -> None:
    days = {"07-02-2026": counts(5, 0, 1), "08-02-2026": counts(4, 3, 2)}
    first = await poll(COLLECTOR, LIMIT, metrics(counts(9, 3, 3), days))
    later = days | {"08-02-2026": counts(6, 3, 7)}
    second = await poll(COLLECTOR, LIMIT, metrics(counts(11, 3, 8), later))
    assert_as_in_file(exposed(COLLECTOR, first, second), "shield_rate_limits_two_polls")


@pytest.mark.parametrize("key", ["08-02-2026", "2026-02-08", "2026-02-08T00:00:00Z", "2026-02-08T00:00:00"])
async def test_today_is_found_however_the_day_is_written(key: str) -> None:
    assert await today({key: counts(4, 3, 2)}) == ["logged 4.0", "challenged 3.0", "blocked 2.0"]


async def test_a_map_without_today_means_none_today() -> None:
    assert await today({"07-02-2026": counts(4, 3, 2)}) == ["logged 0.0", "challenged 0.0", "blocked 0.0"]
    assert await today({}) == ["logged 0.0", "challenged 0.0", "blocked 0.0"]


async def test_a_number_that_is_no_count_is_left_out() -> None:
    assert await today({"08-02-2026": counts(4, -3, 2)}) == ["logged 4.0", "blocked 2.0"]
    assert await today({"08-02-2026": -3, "07-02-2026": 4}) == []
    polled = await poll(COLLECTOR, LIMIT, metrics(counts(4, -9, 2), {}))
    assert samples(exposed(COLLECTOR, polled), "edge_shield_rate_limit_window_breaches_overall") == []
    assert len(samples(exposed(COLLECTOR, polled), "edge_shield_rate_limit_window_breaches")) == 2


async def test_what_is_null_of_today_is_no_sample() -> None:
    assert await today({"08-02-2026": counts(4, None, 2)}) == ["logged 4.0", "blocked 2.0"]
    assert await today({"08-02-2026": None, "07-02-2026": counts(1, 1, 1)}) == []
    assert await today(None) == []


async def test_days_that_are_plain_integers_tell_of_no_action() -> None:
    polled = await poll(COLLECTOR, LIMIT, metrics(counts(1, 2, 3), {"08-02-2026": 6, "07-02-2026": 0}))
    assert_as_in_file(exposed(COLLECTOR, polled), "shield_rate_limits_of_plain_days")


async def test_today_is_the_platforms_day() -> None:
    days = {"08-02-2026": counts(1, 1, 1), "09-02-2026": counts(4, 3, 2)}
    assert await today(days, datetime(2026, 2, 9, 0, 0, 1, tzinfo=UTC)) == [
        "logged 4.0",
        "challenged 3.0",
        "blocked 2.0",
    ]
    assert await today(days) == ["logged 1.0", "challenged 1.0", "blocked 1.0"]


async def test_keys_that_are_no_days_are_skipped() -> None:
    polled = await poll(COLLECTOR, LIMIT, metrics(None, {"total": counts(9, 9, 9), "08-02-2026": counts(4, 3, 2)}))
    (count,) = polled.outcomes[0].counts
    day = datetime(2026, 2, 8, tzinfo=UTC).toordinal()
    assert count.sources == (
        (("logged",), DayBuckets({day: 4})),
        (("challenged",), DayBuckets({day: 3})),
        (("blocked",), DayBuckets({day: 2})),
    )


async def test_a_map_of_which_no_day_can_be_read_tells_nothing_of_today() -> None:
    unreadable = {"2/8/2026": counts(4, 3, 2), "Sunday": counts(1, 1, 1)}
    assert await today(unreadable) == []
    (count,) = (await poll(COLLECTOR, LIMIT, metrics(None, unreadable))).outcomes[0].counts
    assert [source for _, source in count.sources] == [DayBuckets({}, charted=False)] * 3


async def test_a_null_map_is_told_apart_from_an_empty_one() -> None:
    for days, charted in ((None, False), ({}, True)):
        polled = await poll(COLLECTOR, LIMIT, metrics(None, days))
        (count,) = polled.outcomes[0].counts
        assert [source for _, source in count.sources] == [DayBuckets({}, charted=charted)] * 3


async def test_a_limit_that_the_platform_does_not_know_is_a_failure() -> None:
    body = '{"data": null, "error": {"success": false, "errorKey": "not_found.ratelimit_shieldzone"}}'
    with pytest.raises(EnvelopeError):
        await poll(COLLECTOR, LIMIT, body)
