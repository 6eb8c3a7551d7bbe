import pytest

from exporter.collectors.collector import Outcome, Polled
from exporter.metric import Count, DayBuckets, FamilyInfo, Kind, MonthToDate
from exporter.platform.errors import NotFound
from exporter.targets.target import Inventory, Target

ZONE = Target("main", "dns_zone", "102", "example.com")
COUNTED = FamilyInfo("edge_thing_total", "Things, polled.", Kind.COUNTER)
PLAIN = Outcome(ZONE)
DAYS = Outcome(ZONE, counts=(Count(COUNTED, (), (((), DayBuckets({1: 2})),)),))
MONTH = Outcome(ZONE, counts=(Count(COUNTED, (), (((), MonthToDate(1.0)),)),))


@pytest.mark.parametrize(
    ("polled", "unexpected", "is_compared"),
    [
        (Polled((PLAIN,)), "", True),
        (Polled((DAYS,)), "", True),
        (Polled((MONTH,)), "", False),
        (Polled((PLAIN,)), "Status", False),
        (Polled((PLAIN, PLAIN)), "", False),
        (Polled((PLAIN,), found=Inventory({})), "", False),
        (Polled((Outcome(ZONE, error=NotFound("no")),)), "", False),
    ],
)
def test_an_answer_is_compared_where_an_equal_one_gives_an_equal_result(
    polled: Polled, unexpected: str, *, is_compared: bool
) -> None:
    noted = polled.noting(frozenset(unexpected.split()), b"hash").outcomes[0]
    assert (noted.fingerprint == b"hash", noted.lack.unexpected) == (is_compared, frozenset(unexpected.split()))
