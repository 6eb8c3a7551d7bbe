import json

import pytest

from exporter.collectors.shield_zones import COLLECTOR
from exporter.platform.errors import WrongShape
from exporter.targets.target import Target
from tests.collectors.polls import exposed, poll, samples
from tests.platform.payloads import GOOD

ACCOUNT = Target("main", "account", "main", "main", watched=("shield_zone",))
ZONE = json.dumps(GOOD["shield_zones"]["data"][0])
PAGE = '{"totalCount": %d, "totalPages": 1, "currentPage": 1, "nextPage": null, "pageSize": 1000}'


async def zone(**fields: object) -> str:
    """Return the exposition of an account with one zone, which has only these fields."""
    body = {"data": [{"shieldZoneId": 3} | fields], "page": {"totalCount": 1}}
    return exposed(COLLECTOR, await poll(COLLECTOR, ACCOUNT, json.dumps(body)))


async def test_an_accounts_shield_zones() -> None:
    body = f'{{"data": [{ZONE}, {{"shieldZoneId": 4}}], "page": {PAGE % 2}}}'
    polled = await poll(COLLECTOR, ACCOUNT, body, names={("cdn", "9"): "shop"})
    assert [outcome.target.key.label for outcome in polled.outcomes] == [
        "account/main",
        "shield_zone/3",
        "shield_zone/4",
    ]


async def test_what_is_null_yields_no_sample() -> None:
    nulls = dict.fromkeys(key for key in json.loads(ZONE) if key != "shieldZoneId")
    exposition = await zone(**nulls)
    assert [line for line in exposition.splitlines() if not line.startswith("#")] == [
        'edge_shield_zones{account="main"} 1.0',
        'edge_shield_zone_info{account="main",plan="",pull_zone="",pull_zone_id="",shield_zone_id="3"} 1.0',
    ]
    assert exposition == await zone()


async def test_enum_values_that_are_not_known_are_unknown() -> None:
    exposition = await zone(planType=9, wafExecutionMode=7, dDoSShieldSensitivity=-1, dDoSExecutionMode=2)
    lines = [line for line in exposition.splitlines() if "unknown" in line]
    assert lines == [
        'edge_shield_zone_info{account="main",plan="unknown",pull_zone="",pull_zone_id="",shield_zone_id="3"} 1.0',
        'edge_shield_zone_execution_mode{account="main",engine="waf",mode="unknown",shield_zone_id="3"} 1.0',
        'edge_shield_zone_execution_mode{account="main",engine="ddos",mode="unknown",shield_zone_id="3"} 1.0',
        'edge_shield_zone_ddos_sensitivity{account="main",level="unknown",shield_zone_id="3"} 1.0',
    ]
    enum_samples = [
        line for line in exposition.splitlines() if line.startswith(("edge_shield_zone_exec", "edge_shield_zone_ddos"))
    ]
    assert sum(float(line.rpartition(" ")[2]) for line in enum_samples) == 3.0


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ('"wafEnabled": "perhaps"', "the zone's item has another shape than documented: wafEnabled: "),
        (
            f'"rateLimitRulesLimit": 1{"0" * 400}',
            "the zone's item has another shape than documented: rateLimitRulesLimit",
        ),
    ],
)
async def test_a_zone_that_cannot_be_read_fails_alone(field: str, message: str) -> None:
    broken = f'{{"shieldZoneId": 4, {field}}}'
    polled = await poll(COLLECTOR, ACCOUNT, f'{{"data": [{broken}, {ZONE}], "page": {PAGE % 2}}}')
    account, *zones = polled.outcomes
    good, bad = sorted(zones, key=lambda zone: zone.target.id)
    assert (account.error, good.error, bool(good.families), bad.families) == (None, None, True, ())
    assert isinstance(bad.error, WrongShape)
    assert bad.target.key.label == "shield_zone/4"
    assert str(bad.error).startswith(message)


async def test_a_list_without_a_total_counts_no_zones() -> None:
    polled = await poll(COLLECTOR, ACCOUNT, f'{{"data": [{ZONE}]}}')
    assert samples(exposed(COLLECTOR, polled), "edge_shield_zones") == []


def test_an_account_is_listed_only_where_its_zones_are_polled() -> None:
    assert COLLECTOR.wants(ACCOUNT)
    assert not COLLECTOR.wants(Target("main", "account", "main", watched=("discover search",)))
