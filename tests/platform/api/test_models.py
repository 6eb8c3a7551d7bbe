"""Literal payloads of the interface document and of deployments, and their models."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from exporter.platform.api import containers, dns, global_search, scripting, shield
from exporter.platform.api.operations import OPERATIONS
from exporter.platform.errors import WrongShape
from exporter.platform.http.responses import payload
from exporter.platform.operation import Operation
from exporter.platform.wire import Unusable
from tests.golden import assert_golden
from tests.platform.payloads import GOOD


def read(operation: Operation[Any], body: str) -> Any:
    return payload(operation, body.encode(), 200, set())


def unexpected(operation: Operation[Any], body: str) -> list[str]:
    """Return the names of unexpected values of a good answer."""
    names = set[str]()
    payload(operation, body.encode(), 200, names)
    return sorted(names)


def leaves(value: object, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield every value of a payload or of its model, with the names of the fields that lead to it."""
    if isinstance(value, BaseModel):
        value = {field.alias or name: getattr(value, name) for name, field in type(value).model_fields.items()}
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from leaves(part, (*place, name))
    elif isinstance(value, list) and value:
        for part in value:
            yield from leaves(part, (*place, "[]"))
    elif isinstance(value, SecretStr):
        yield place, value.get_secret_value()
    elif not isinstance(value, Unusable):
        yield place, _utc(value)


def _utc(value: object) -> object:
    """Return a date as a time in UTC; any other value as it is."""
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        return value
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_a_model_has_every_documented_field_and_no_other(operation: Operation[Any]) -> None:
    answer, model = GOOD[operation.name], read(operation, json.dumps(GOOD[operation.name]))
    is_enveloped = set(answer) == {"data", "error"} if isinstance(answer, dict) else False
    sent = list(leaves(answer["data"] if is_enveloped else answer))
    read_ = list(leaves(model))
    assert [leaf for leaf in sent if leaf not in read_] == []
    names = {place[:end] for place, _ in sent for end in range(len(place) + 1)}
    assert {place for place, _ in read_} - names <= {("statusCode",), ("error",), ("results", "[]", "error")}, (
        "failures"
    )


DATES = (
    "2026-02-06T09:27:36.7357793Z", "2026-02-06T09:27:36.1Z", "2026-02-06T09:27:36", "2026-02-06T09:27:36.7357793",
    "2026-02-06T09:27:36+02:00", "2026-02-06", "0001-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "", None,
)  # fmt: skip
INTEGERS = ("28", "28.0", '"28"', "-9223372036854775808")
# A platform sends 0 for a missing id.
FOUND = '[{"Type": "novelty", "Id": 5.0, "Name": null}, {"Type": null, "Id": 6}, {"Type": "dns", "Id": 0}]'
# Answers with unknown values of enums, days that are none and counts below zero: the fields that hold them are named.
UNEXPECTED: tuple[tuple[Operation[Any], str], ...] = (
    (dns.RECORD_SCAN, '{"Status": 9, "Records": [{"Type": 3}, {"Type": 99}, {"Type": null}]}'),
    (shield.ZONES, '{"data": [{"shieldZoneId": 3, "planType": 4, "dDoSShieldSensitivity": 9}, 7]}'),
    (shield.ZONES, '{"data": [{"shieldZoneId": 3, "rateLimitRulesLimit": "1e400"}]}'),
    (shield.BOT_DETECTION, '{"data": {"executionMode": 5, "ipAddress": {"sensitivity": -1}}}'),
    (shield.BOT_DETECTION, '{"data": {"executionMode": null, "browserFingerprint": {"aggression": 7}}}'),
    (dns.STATISTICS, '{"TotalQueriesServed": -1, "QueriesServedChart": {"soon": 1}, "QueriesByTypeChart": {"1": -1}}'),
    (shield.RATE_LIMIT, '{"data": {"ratelimitOverviewPastTwentyEightDays": {"32-01-2026": 1}}}'),
    (shield.RATE_LIMIT, '{"data": {"ratelimitOverviewPastTwentyEightDays": {"08-02-2026": -1}}}'),
    (shield.RATE_LIMIT, '{"data": {"ratelimitOverviewPastTwentyEightDays": {"08-02-2026": 1e19}}}'),
    (shield.RATE_LIMIT, '{"data": {"ratelimitOverviewPastTwentyEightDays": {"08-02-2026": {"totalBreaches": -1}}}}'),
    (shield.RATE_LIMIT, '{"data": {"overview": {"totalBreaches": -1}}}'),
    (scripting.READ, '{"ScriptType": 3, "LastModified": "", "MonthlyCost": "NaN"}'),
)
BODIES, SIGNALS = ("Request", "Response"), ("requestIntegrity", "ipAddress", "browserFingerprint")
# Fields that are enums, each with `%d` in the place of its value.
ENUMS: tuple[tuple[Operation[Any], str], ...] = (
    (dns.RECORD_SCAN, '{"Status": %d}'),
    (dns.RECORD_SCAN, '{"Records": [{"Type": %d}]}'),
    (scripting.READ, '{"ScriptType": %d}'),
    *(
        (shield.ZONES, f'{{"data": [{{"shieldZoneId": 3, "{name}": %d}}]}}')
        for name in ("planType", "wafExecutionMode", "dDoSExecutionMode", "dDoSShieldSensitivity")
    ),
    *((shield.ZONES, f'{{"data": [{{"shieldZoneId": 3, "waf{body}BodyLimitAction": %d}}]}}') for body in BODIES),
    *((shield.BOT_DETECTION, f'{{"data": {{"{signal}": {{"sensitivity": %d}}}}}}') for signal in SIGNALS),
    (shield.BOT_DETECTION, '{"data": {"browserFingerprint": {"aggression": %d}}}'),
    (shield.BOT_DETECTION, '{"data": {"executionMode": %d}}'),
)
NO_NUMBERS: tuple[tuple[Operation[Any], str], ...] = (
    (dns.STATISTICS, '{"TotalQueriesServed": true}'),
    (dns.STATISTICS, '{"QueriesServedChart": {"2026-02-08": true}}'),
    (dns.STATISTICS, '{"QueriesByTypeChart": {"1": false}}'),
    (scripting.READ, '{"Id": 1, "MonthlyCost": true}'),
    (shield.RATE_LIMIT, '{"data": {"overview": {"totalBreaches": true}}}'),
    (shield.RATE_LIMIT, '{"data": {"ratelimitOverviewPastTwentyEightDays": {"08-02-2026": true}}}'),
)


def test_values_are_read_in_each_way_to_write_them_and_true_is_no_number() -> None:
    for of, body in NO_NUMBERS:
        with pytest.raises(WrongShape):
            read(of, body)
    scripts = [(date, read(scripting.READ, json.dumps({"Id": 7, "LastModified": date}))) for date in DATES]
    lines = [f"date {written}: {script.last_modified}" for written, script in scripts]
    lines += [f"integer {text}: " + str(read(scripting.READ, f'{{"Id": {text}}}').id) for text in INTEGERS]
    for tag in read(containers.TAGS, '[{"name": "1.27"}, {"name": null}, {"name": 1.5}, {}, 7]'):
        lines.append(f"tag {'unusable' if isinstance(tag, Unusable) else tag.name}")
    for one in read(global_search.SEARCH, f'{{"SearchResults": {FOUND}}}').search_results:
        is_read = not isinstance(one, Unusable)
        lines.append(f"found {(one.type, one.id, one.name) if is_read else (one.fault, one.identity('Id'))}")
    lines += [f"unexpected in {body}: {unexpected(of, body)}" for of, body in UNEXPECTED]
    for of, body in ENUMS:
        known = [number for number in (*range(-1, 30), 255) if not unexpected(of, body % number)]
        lines.append(f"known in {body}: {known}, another is {unexpected(of, body % -1)}")
    assert_golden("\n".join([*lines, ""]), Path(__file__).parent / "values.txt")
