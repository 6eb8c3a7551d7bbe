"""One collector's answers and what they give: the series, what is counted, and the errors of its targets.

`expositions/answers.txt` has what each case asks for, and what it gives.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from exporter.collectors.catalogue import CATALOGUE
from exporter.platform.errors import NotFound, Rejected
from exporter.targets.target import Target
from tests.collectors.polls import EXPOSITIONS, Body, exposed, poll, told
from tests.collectors.targets import TARGETS
from tests.golden import assert_golden
from tests.platform.payloads import GOOD

SCRIPT = Target("main", "script", "7", "its former name", {"read": "get"})
OF = {**TARGETS, "script": SCRIPT}


def nulls(operation: str) -> dict[str, None]:
    """Return the fields of an operation's good answer, all null but its id."""
    good = GOOD[operation]["data"] if "data" in GOOD[operation] else GOOD[operation]
    one: dict[str, Any] = good[0] if isinstance(good, list) else good
    return dict.fromkeys(key for key in one if key not in ("Id", "shieldZoneId"))


def charts(**fields: object) -> str:
    """Return the statistics of a zone, which has only these charts; `total` and `types` are the other two fields."""
    names = {"total": "TotalQueriesServed", "types": "QueriesByTypeChart", "queries": "QueriesServedChart"}
    return json.dumps({names.get(name, f"{name.capitalize()}QueriesServedChart"): one for name, one in fields.items()})


def breaches(logged: int | None, challenged: int | None, blocked: int | None) -> dict[str, int | None]:
    """Return the counts of a day, or of the whole window."""
    counts = {"loggedBreaches": logged, "challengedBreaches": challenged, "blockedBreaches": blocked}
    return {"totalBreaches": sum(count or 0 for count in counts.values()), **counts}


def envelope(data: object, **error: object) -> str:
    """Return an answer with this payload, or with this error."""
    return json.dumps({"data": data, "error": {"success": False, **error} if error else None})


def limit(days: object, overview: object = None) -> str:
    return envelope({"overview": overview, "ratelimitOverviewPastTwentyEightDays": days})


def zones(*items: Mapping[str, object], total: int | None = 2) -> str:
    page = {} if total is None else {"page": {"totalCount": total, "totalPages": 1, "currentPage": 1, "pageSize": 1000}}
    return json.dumps({"data": items, **page})


def rule(**fields: object) -> str:
    return json.dumps({"id": 21, "shieldZoneId": 3, "ruleName": "login", **fields})


HOSTILE = 'x"} 1\ny{a="\\\ud800\0'
WEEKS = {"2026-01-25": 1, "2026-02-01": 1, "2026-02-08": 1}
HOURS = {f"2026-02-0{day}T{hour:02}:00:00Z": 10 for day in (7, 8) for hour in range(12)}
NEGATIVE = {"2026-02-07": 5, "2026-02-08": -5}
NO_DAYS = {"2/8/2026": breaches(4, 3, 2), "Sunday": breaches(1, 1, 1)}
ZONE = GOOD["shield_zones"]["data"][0]
ENUMS = ("planType", "dDoSShieldSensitivity", "wafExecutionMode", "dDoSExecutionMode")
SIGNALS = ("requestIntegrity", "ipAddress", "browserFingerprint")
STATES = (0, 1, 2, 3, 4, -1)
WAYS_TO_WRITE_A_DAY = ("08-02-2026", "2026-02-08", "2026-02-08T00:00:00Z", "2026-02-08T00:00:00")

COLLECTORS = {collector.name: collector for collector in CATALOGUE}
ANSWERS: Mapping[str, Mapping[str, Body]] = {
    "dns_statistics": {
        "all charts null": charts(total=None, queries=None, normal=None, smart=None, types=None),
        "all charts missing": charts(total=None),
        "a query of each type": charts(types={str(number): 1 for number in (*range(300), 32768, 32769, 65535)}),
        "empty charts": charts(queries={}, normal={}, smart={}, types={}),
        "charts of which nothing can be read": charts(
            queries={"week 6": 5}, normal={"2026-02-08": None}, smart={"?": 1}),
        "negative numbers": charts(total=-1, queries=NEGATIVE, normal=NEGATIVE, types={"1": -4, "28": 3}),
        "the last 30 of 31 days are drawn": charts(queries={f"2026-01-{day:02}": day for day in range(31, 0, -1)}),
        "hours add up to their days": charts(queries=HOURS, normal=HOURS),
        "a hostile record type": charts(types={HOSTILE: 1}),
        "record types that are alike after they are cut": charts(types={"x" * 2000: 1, "x" * 3000: 2, "9" * 5000: 4}),
        "record types that mean the same": charts(types={"1": 5, "A": 2, "01": 1, "TYPE65534": 3, "65534": 4, "²": 1}),
        **{f"weeks in {name}": charts(**{name: WEEKS}) for name in ("queries", "normal", "smart")},
        "no such zone": NotFound("the platform answered 404", status=404),
    },
    "dns_record_scans": {
        **{f"status {status}": json.dumps({"Status": status}) for status in STATES},
        "all fields null": json.dumps(nulls("dns_record_scan")),
        "no records": '{"Records": []}',
        "a record of each type": json.dumps({"Records": [{"Type": number} for number in range(-1, 18)]}),
        "never scanned": None,
    },
    "scripts": {
        **{f"type {number}": f'{{"ScriptType": {number}}}' for number in range(3)},
        "an unknown type, and a new name": '{"ScriptType": 3, "Name": "router"}',
        "secrets": '{"DeploymentKey": "d3pl0y", "EdgeScriptVariables": [{"Required": true, "DefaultValue": "v4lue"}]}',
        "a credit": '{"MonthlyCost": -2.0, "MonthlyCpuTime": 5300, "MonthlyRequestCount": 120000}',
        "all fields null": json.dumps({"Id": 7, **nulls("script")}),
        **{f"wrong{more}": f'{{"Id": [], "MonthlyCost": [], "Name": []{more}}}' for more in ("", ', "Deleted": 7')},
        "a cost without end": '{"MonthlyCost": 1e999}',
        "hostile names": json.dumps(
            {"Name": HOSTILE, "DefaultHostname": HOSTILE, "Integration": {"RepositorySettings": {"Name": HOSTILE}}}),
    },
    "shield_rate_limits": {
        **{f"today as {key}": limit({key: breaches(4, 3, 2)}) for key in WAYS_TO_WRITE_A_DAY},
        "a map without today": limit({"07-02-2026": breaches(4, 3, 2)}),
        "an empty map": limit({}),
        "no map": limit(None),
        "a negative count": limit({"08-02-2026": breaches(4, -3, 2)}, breaches(4, -9, 2)),
        "plain days": limit({"08-02-2026": 6, "07-02-2026": 0}, breaches(1, 2, 3)),
        "plain days without today": limit({"07-02-2026": 4}),
        "a negative plain day": limit({"08-02-2026": -3, "07-02-2026": 4}),
        "a null of today": limit({"08-02-2026": breaches(4, None, 2)}),
        "today is null": limit({"08-02-2026": None, "07-02-2026": breaches(1, 1, 1)}),
        "a key that is no day": limit({"total": breaches(9, 9, 9), "08-02-2026": breaches(4, 3, 2)}),
        "no key is a day": limit(NO_DAYS),
        "no such limit": envelope(None, errorKey="not_found.ratelimit_shieldzone"),
    },
    "shield_zones": {
        "a zone without a known name, and one of its id alone": zones(ZONE, {"shieldZoneId": 4}),
        "a known name, and a pull zone without one": zones({"shieldZoneId": 9, "pullZoneId": 10}, total=1),
        "all fields null": zones({"shieldZoneId": 3, **nulls("shield_zones")}),
        "each value of each enum": zones(*(
            {"shieldZoneId": number + 3, **dict.fromkeys(ENUMS, number)} for number in range(5)), total=5),
        "unknown enum values": zones({
            "shieldZoneId": 3, "planType": 9, "dDoSShieldSensitivity": -1,
            "wafExecutionMode": 7, "dDoSExecutionMode": 2,
        }),
        "a known name, and another shape": zones({"shieldZoneId": 9, "wafEnabled": "perhaps"}, {"shieldZoneId": 3}),
        "a number of 400 digits": zones({"shieldZoneId": 4, "rateLimitRulesLimit": 10**400}, {"shieldZoneId": 3}),
        "a list without a total": zones({"shieldZoneId": 3}, total=None),
    },
    "shield_api_guardian": {
        "nothing": envelope({}),
        "all fields null": envelope({"configuration": None, "endpoints": None}),
        "an empty configuration": envelope({"configuration": {}, "endpoints": None}),
        "never set up": envelope(None, message="", errorKey="api_guardian.get_api_guardian.no_configuration"),
    },
    "shield_bot_detection": {
        "fields null": envelope(
            {"requestIntegrity": None, "ipAddress": {"sensitivity": None}, "browserFingerprint": {}}),
        **{f"sensitivity {number}": envelope({key: {"sensitivity": number} for key in SIGNALS}) for number in range(4)},
        "an unknown sensitivity": envelope({"ipAddress": {"sensitivity": 9}}),
        "not in the plan": envelope(None, message="Upgrade", errorKey="invalid_plan_type.bot_detection"),
    },
    "shield_access_lists": {"all fields null": envelope(nulls("shield_access_list"))},
    "shield_waf_custom_rules": {
        "no configuration": rule(ruleConfiguration=None),
        "no chained conditions": rule(ruleConfiguration={"chainedRuleConditions": None}),
        "no zone, no name": rule(shieldZoneId=None, ruleName=None),
        "an error": rule(
            errorResponse={"success": False, "message": "no such rule", "errorKey": "not_found.custom_rule"}),
    },
    "shield_waf_plans": {"no plans": envelope([])},
    "container_tags": {"no tags": "[]", "refused": Rejected("the platform answered 422", status=422)},
    "search": {"no total": '{"Total": null}'},
}  # fmt: skip


async def test_answers_give_their_series() -> None:
    text = "".join([
        f"### {name}: {words}\n{await told(COLLECTORS[name], [body], OF[COLLECTORS[name].polls])}"
        for name, cases in ANSWERS.items()
        for words, body in cases.items()
    ])  # fmt: skip
    assert_golden(text, EXPOSITIONS / "answers.txt")


async def test_a_script_is_read_by_update_where_the_configuration_says_so() -> None:
    by_update = Target("main", "script", "7", attributes={"read": "update"})
    said = await told(COLLECTORS["scripts"], ['{"Id": 7}'], by_update)
    assert said.startswith('asked script_read_by_update {"id": 7}\n')


@pytest.mark.parametrize(
    ("date", "counts"),
    [(datetime(2026, 2, 9, 0, 0, 1, tzinfo=UTC), ["4.0", "3.0", "2.0"]), (None, ["1.0", "1.0", "1.0"])],
    ids=["known", "unknown"],
)
async def test_today_is_the_platforms_day_or_without_its_date_that_of_the_machine(
    date: datetime | None, counts: list[str]
) -> None:
    body = limit({"08-02-2026": breaches(1, 1, 1), "09-02-2026": breaches(4, 3, 2)})
    collector = COLLECTORS["shield_rate_limits"]
    polled = await poll(collector, TARGETS["rate_limit"], body, date=date)
    lines = [one for one in exposed(collector, polled).splitlines() if one.startswith("edge_shield_rate_limit_day_")]
    assert ([line.rpartition(" ")[2] for line in lines], polled.date) == (counts, date)
