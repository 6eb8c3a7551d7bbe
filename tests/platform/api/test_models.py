"""Literal payloads of the interface document and of deployments, and their models."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from exporter.platform.api import containers, database, dns, scripting, search, shield
from exporter.platform.api.catalogue import OPERATIONS
from exporter.platform.operation import Operation
from exporter.platform.wire import Unusable, unexpected_in
from tests.platform.readings import read


def test_dns_statistics() -> None:
    zone = read(
        dns.STATISTICS,
        """{"TotalQueriesServed": 28.0,
            "QueriesServedChart": {"2026-02-07T00:00:00Z": 12.0, "2026-02-08T00:00:00Z": 16},
            "NormalQueriesServedChart": {},
            "SmartQueriesServedChart": null,
            "QueriesByTypeChart": {"1": 20, "28": 8}}""",
    )
    assert zone.model_dump() == {
        "total_queries_served": 28,
        "queries_served_chart": {"2026-02-07T00:00:00Z": 12.0, "2026-02-08T00:00:00Z": 16.0},
        "normal_queries_served_chart": {},
        "smart_queries_served_chart": None,
        "queries_by_type_chart": {"1": 20.0, "28": 8.0},
    }


def test_a_record_scan() -> None:
    scan = read(
        dns.RECORD_SCAN,
        """{"JobId": "5b0f2c8e-6a43-4f0e-9d0e-0a3b1c2d3e4f", "ZoneId": 102, "Domain": "example.com",
            "AccountId": "8c1d", "Status": 2, "CreatedAt": "2026-02-06T09:27:36.7357793Z",
            "CompletedAt": "2026-02-06T09:27:41", "Error": null,
            "Records": [
              {"Name": "www", "Type": 0, "Ttl": 300, "Value": "192.0.2.1", "Priority": null, "Weight": null,
               "Port": null, "IsProxied": true},
              {"Name": null, "Type": null, "Ttl": null, "Value": null, "Priority": null, "Weight": null,
               "Port": null, "IsProxied": null}]}""",
    )
    assert (scan.job_id, scan.zone_id, scan.domain, scan.account_id, scan.status, scan.error) == (
        "5b0f2c8e-6a43-4f0e-9d0e-0a3b1c2d3e4f",
        102,
        "example.com",
        "8c1d",
        2,
        None,
    )
    assert scan.created_at == datetime(2026, 2, 6, 9, 27, 36, 735779, UTC)
    assert scan.completed_at == datetime(2026, 2, 6, 9, 27, 41, 0, UTC)
    assert [record.model_dump() for record in scan.records] == [
        {
            "name": "www", "type": 0, "ttl": 300, "value": "192.0.2.1", "priority": None, "weight": None,
            "port": None, "is_proxied": True,
        },
        dict.fromkeys(("name", "type", "ttl", "value", "priority", "weight", "port", "is_proxied")),
    ]  # fmt: skip


SCRIPT = """{"Id": 7, "Name": "router", "LastModified": "2026-02-06T09:27:36.7357793Z", "ScriptType": 1,
  "CurrentReleaseId": 4002, "Deleted": false,
  "EdgeScriptVariables": [{"Id": 1, "Name": "TOKEN", "Required": true, "DefaultValue": "v4lue"}],
  "LinkedPullZones": [{"Id": 9, "PullZoneName": "shop", "DefaultHostname": "shop.edge.example"}],
  "Integration": {"IntegrationId": 5,
    "RepositorySettings": {"Id": 6, "Name": "acme/router", "Private": true, "TemplateUrl": null},
    "DeployConfiguration": {"Branch": "main", "InstallCommand": "npm ci", "BuildCommand": "npm run build",
      "EntryFile": "dist/index.js", "CreateWorkflow": false}},
  "DefaultHostname": "router.edge.example", "SystemHostname": "router.sys.example", "DeploymentKey": "d3pl0y",
  "RepositoryId": 6, "IntegrationId": 5, "MonthlyCost": 1.25, "MonthlyRequestCount": 120000, "MonthlyCpuTime": 5300}"""


@pytest.mark.parametrize("operation", [scripting.READ, scripting.UPDATE, scripting.READ_BY_UPDATE])
def test_a_script(operation: Operation[Any]) -> None:
    script = read(operation, SCRIPT)
    assert script.model_dump() == {
        "id": 7,
        "name": "router",
        "last_modified": datetime(2026, 2, 6, 9, 27, 36, 735779, UTC),
        "script_type": 1,
        "current_release_id": 4002,
        "edge_script_variables": [{"id": 1, "name": "TOKEN", "required": True, "default_value": SecretStr("v4lue")}],
        "deleted": False,
        "linked_pull_zones": [{"id": 9, "pull_zone_name": "shop", "default_hostname": "shop.edge.example"}],
        "integration": {
            "integration_id": 5,
            "repository_settings": {"id": 6, "name": "acme/router", "private": True, "template_url": None},
            "deploy_configuration": {
                "branch": "main",
                "install_command": "npm ci",
                "build_command": "npm run build",
                "entry_file": "dist/index.js",
                "create_workflow": False,
            },
        },
        "default_hostname": "router.edge.example",
        "system_hostname": "router.sys.example",
        "deployment_key": SecretStr("d3pl0y"),
        "repository_id": 6,
        "integration_id": 5,
        "monthly_cost": 1.25,
        "monthly_request_count": 120000.0,
        "monthly_cpu_time": 5300.0,
    }


def test_a_scripts_secrets_are_not_in_its_text() -> None:
    script = read(scripting.READ, SCRIPT)
    shown = f"{script!r} {script} {script.model_dump_json()}"
    assert [secret for secret in ("d3pl0y", "v4lue") if secret in shown] == []


def test_an_added_secret_comes_back_without_its_value() -> None:
    secret = read(scripting.ADD_SECRET, '{"Id": 3, "Name": "TOKEN", "LastModified": "2026-02-08"}')
    assert secret.model_dump() == {"id": 3, "name": "TOKEN", "last_modified": datetime(2026, 2, 8, tzinfo=UTC)}


def test_container_tags() -> None:
    tags = read(containers.TAGS, '[{"name": "1.27"}, {"name": "stable"}, {"name": null}, {"name": 1.5}, {}, 7]')
    assert [tag.name for tag in tags if not isinstance(tag, Unusable)] == ["1.27", "stable", "1.5"]
    assert read(containers.TAGS, "[]") == []


def test_a_search_page() -> None:
    page = read(
        search.SEARCH,
        """{"Query": "prod", "Total": 3, "From": 0, "Size": 20, "SearchResults": [
             {"Type": "dns", "Id": 102, "Name": "example.com"}, {"Type": "novelty", "Id": 5.0, "Name": null},
             {"Type": null, "Id": 6}]}""",
    )
    assert (page.query, page.total, page.from_, page.size) == ("prod", 3, 0, 20)
    first, second, third = page.search_results
    assert (first.type, first.id, first.name) == ("dns", 102, "example.com")
    assert (second.type, second.id, second.name) == ("novelty", 5, None)
    assert isinstance(third, Unusable)
    assert (third.fault, third.identity("Id")) == ("Type: Input should be a valid string", 6)


def test_a_pipeline() -> None:
    answer = read(
        database.PIPELINE,
        """{"baton": null, "base_url": null, "results": [
             {"type": "ok", "response": {"type": "execute", "result": {"cols": [], "rows": []}}},
             {"type": "error", "error": {"message": "no such table: x", "code": "SQLITE_ERROR"}},
             {"type": "ok", "response": {"type": "close"}}]}""",
    )
    assert [
        (result.type, result.response is not None, result.error and result.error.code) for result in answer.results
    ] == [
        ("ok", True, None),
        ("error", False, "SQLITE_ERROR"),
        ("ok", True, None),
    ]


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-02-06T09:27:36.7357793Z", datetime(2026, 2, 6, 9, 27, 36, 735779, UTC)),
        ("2026-02-06T09:27:36.1Z", datetime(2026, 2, 6, 9, 27, 36, 100000, UTC)),
        ("2026-02-06T09:27:36", datetime(2026, 2, 6, 9, 27, 36, 0, UTC)),
        ("2026-02-06T09:27:36.7357793", datetime(2026, 2, 6, 9, 27, 36, 735779, UTC)),
        ("2026-02-06T09:27:36+02:00", datetime(2026, 2, 6, 7, 27, 36, 0, UTC)),
        ("2026-02-06", datetime(2026, 2, 6, 0, 0, 0, 0, UTC)),
        ("0001-01-01T00:00:00", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("", None),
        (None, None),
    ],
)
def test_each_way_to_write_a_date_is_read(written: str | None, moment: datetime | None) -> None:
    assert read(scripting.READ, json.dumps({"Id": 7, "LastModified": written})).last_modified == moment


@pytest.mark.parametrize(
    ("written", "number"), [("28", 28), ("28.0", 28), ('"28"', 28), ("-9223372036854775808", -(2**63))]
)
def test_each_way_to_write_an_integer_is_read(written: str, number: int) -> None:
    assert read(scripting.READ, f'{{"Id": {written}}}').id == number


STRANGE = '"Strange": {"a": [1, {"b": null}]}, "strange": 7'
LISTED = f'{{"data": [{{"shieldZoneId": 3, "planName": "p", {STRANGE}}}], {STRANGE}}}'
WRAPPED = f'{{"data": {{{STRANGE}}}, {STRANGE}}}'
STRANGE_BODIES = {
    "dns_statistics": f'{{"TotalQueriesServed": null, {STRANGE}}}',
    "dns_record_scan": f'{{"Records": [{{{STRANGE}}}], {STRANGE}}}',
    "script_update": f'{{"Id": 7, {STRANGE}}}',
    "script_add_secret": f'{{"Id": 7, {STRANGE}}}',
    "container_tags": f'[{{"name": "1.27", {STRANGE}}}]',
    "shield_bot_category_action": WRAPPED,
    "shield_access_list_switch": WRAPPED,
    "shield_access_list": WRAPPED,
    "shield_api_guardian": WRAPPED,
    "shield_bot_detection": WRAPPED,
    "shield_zones": LISTED,
    "shield_rate_limit_metrics": WRAPPED,
    "shield_waf_custom_rule": f'{{"id": 21, {STRANGE}}}',
    "shield_waf_plan_segmentation": LISTED,
    "search": f'{{"SearchResults": [{{"Type": "dns", "Id": 1, {STRANGE}}}], {STRANGE}}}',
    "script": f'{{"Id": 7, {STRANGE}}}',
    "script_read_by_update": f'{{"Id": 7, {STRANGE}}}',
    "shield_zone_rate_limits": LISTED,
    "database_pipeline": f'{{"results": [{{{STRANGE}}}], {STRANGE}}}',
}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_unknown_fields_are_ignored_everywhere(operation: Operation[Any]) -> None:
    assert "trange" not in repr(read(operation, STRANGE_BODIES[operation.name]))


def test_unknown_enum_values_are_named_by_the_fields_that_hold_them() -> None:
    scan = read(dns.RECORD_SCAN, '{"Status": 9, "Records": [{"Type": 3}, {"Type": 99}, {"Type": null}]}')
    zones = read(shield.ZONES, '{"data": [{"shieldZoneId": 3, "planType": 4, "dDoSShieldSensitivity": 9}, 7]}')
    bots = read(
        shield.BOT_DETECTION,
        '{"data": {"executionMode": 5, "ipAddress": {"sensitivity": -1}, "browserFingerprint": {"aggression": 7}}}',
    )
    traffic = read(dns.STATISTICS, '{"QueriesServedChart": {"yesterday": 1, "2026-02-08": 2}}')
    limit = read(shield.RATE_LIMIT, '{"data": {"ratelimitOverviewPastTwentyEightDays": {"32-01-2026": 1}}}')
    script = read(scripting.READ, '{"ScriptType": 3}')
    found = [list(unexpected_in(answer)) for answer in (scan, zones, bots, traffic, limit, script)]
    assert found == [
        ["Status", "Records.Type"],
        ["planType", "dDoSShieldSensitivity"],
        ["executionMode", "ipAddress.sensitivity", "browserFingerprint.aggression"],
        ["QueriesServedChart"],
        ["ratelimitOverviewPastTwentyEightDays"],
        ["ScriptType"],
    ]


@pytest.mark.parametrize(
    ("operation", "payload"),
    [
        (dns.STATISTICS, '{"TotalQueriesServed": true}'),
        (dns.STATISTICS, '{"QueriesServedChart": {"2026-02-08": true}}'),
        (dns.STATISTICS, '{"QueriesByTypeChart": {"1": false}}'),
        (scripting.READ, '{"Id": 1, "MonthlyCost": true}'),
        (shield.RATE_LIMIT, '{"data": {"overview": {"totalBreaches": true}}}'),
        (shield.RATE_LIMIT, '{"data": {"ratelimitOverviewPastTwentyEightDays": {"08-02-2026": true}}}'),
    ],
)
def test_true_is_no_number(operation: Operation[Any], payload: str) -> None:
    with pytest.raises(ValidationError):
        operation.answer.validate_json(payload)


def test_a_resource_with_the_id_0_is_none() -> None:
    page = read(search.SEARCH, '{"Total": 1, "SearchResults": [{"Type": "dns", "Id": 0, "Name": "zero.example"}]}')
    (item,) = page.search_results
    assert isinstance(item, Unusable)
    assert item.identity("Id") is None
