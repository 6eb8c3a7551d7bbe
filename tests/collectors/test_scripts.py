import json

from exporter.collectors.scripts import COLLECTOR
from exporter.platform.api.catalogue import OPERATIONS
from exporter.targets.target import Target, TargetKey
from tests.collectors.polls import KnownNames, assert_as_in_file, context_of, exposed, poll, samples
from tests.platform.callers import ScriptedCaller

SCRIPT = Target("main", "script", "7", attributes={"read": "get"})
ANSWER = """{"Id": 7, "Name": "router", "LastModified": "2026-02-06T09:27:36.7357793Z", "ScriptType": 1,
  "CurrentReleaseId": 4002, "Deleted": false,
  "EdgeScriptVariables": [{"Id": 1, "Name": "TOKEN", "Required": true, "DefaultValue": "v4lue"},
    {"Id": 2, "Name": "MODE", "Required": false}, {"Id": 3, "Name": "LEVEL", "Required": null}],
  "LinkedPullZones": [{"Id": 9, "PullZoneName": "shop", "DefaultHostname": "shop.edge.example"}],
  "Integration": {"IntegrationId": 5, "RepositorySettings": {"Id": 6, "Name": "acme/router"},
    "DeployConfiguration": {"Branch": "main"}},
  "DefaultHostname": "router.edge.example", "SystemHostname": "router.sys.example", "DeploymentKey": "d3pl0y",
  "RepositoryId": 6, "IntegrationId": 5, "MonthlyCost": %s, "MonthlyRequestCount": %s, "MonthlyCpuTime": %s}"""
NULLS = dict.fromkeys(
    (
        *(
            "Name",
            "LastModified",
            "ScriptType",
            "CurrentReleaseId",
            "EdgeScriptVariables",
            "Deleted",
            "LinkedPullZones",
        ),
        *("Integration", "DefaultHostname", "SystemHostname", "DeploymentKey", "RepositoryId", "IntegrationId"),
        *("MonthlyCost", "MonthlyRequestCount", "MonthlyCpuTime"),
    )
)


async def test_a_script_and_what_it_cost() -> None:
    polls = [await poll(COLLECTOR, SCRIPT, ANSWER % figures) for figures in ((1.25, 120000, 5300), (1.5, 150000, 6300))]
    assert_as_in_file(exposed(COLLECTOR, *polls), "scripts_two_polls")


async def test_a_script_that_is_nulls_but_for_its_id() -> None:
    exposition = exposed(COLLECTOR, await poll(COLLECTOR, SCRIPT, json.dumps({"Id": 7} | NULLS)))
    assert_as_in_file(exposition, "scripts_of_nulls")


async def test_neither_the_deployment_key_nor_a_variables_value_is_exposed() -> None:
    polled = await poll(COLLECTOR, SCRIPT, ANSWER % (1, 2, 3))
    shown = f"{exposed(COLLECTOR, polled)} {polled!r}"
    assert [secret for secret in ("d3pl0y", "v4lue") if secret in shown] == []


async def test_an_unknown_type_is_unknown() -> None:
    exposition = exposed(COLLECTOR, await poll(COLLECTOR, SCRIPT, '{"ScriptType": 3}'))
    assert [line for line in samples(exposition, "edge_script_info") if 'script_type="unknown"' in line] != []


async def test_its_own_name_serves_where_no_other_is_known() -> None:
    polled = await poll(COLLECTOR, SCRIPT, ANSWER % (1, 2, 3))
    assert polled.outcomes[0].target.name == "router"


async def test_it_is_read_as_the_configuration_says() -> None:
    by_update = Target("main", "script", "7", attributes={"read": "update"})
    caller = ScriptedCaller(['{"Id": 7}'])
    await COLLECTOR.poll(context_of(caller), SCRIPT)
    await COLLECTOR.poll(context_of(caller), by_update)
    assert caller.calls == [("script", {"id": 7}), ("script_read_by_update", {"id": 7})]


def test_no_operation_of_a_poll_writes() -> None:
    assert [operation.name for operation in COLLECTOR.operations if operation.writes] == []
    assert [operation for operation in COLLECTOR.operations if operation not in OPERATIONS] == []
    assert KnownNames().name_of(TargetKey.of("main", "script", "7")) == ""


async def test_a_negative_cost_is_shown_and_not_counted() -> None:
    """A credit or refund can be negative; the counter continues with the next valid number."""
    costs = (1.5, -2.0, 2.0)
    polls = [await poll(COLLECTOR, SCRIPT, ANSWER % (cost, 1, 2)) for cost in costs]
    shown = [samples(exposed(COLLECTOR, *polls[: count + 1]), "edge_script_monthly_cost_dollars") for count in range(3)]
    counted = [samples(exposed(COLLECTOR, *polls[: count + 1]), "edge_script_cost_dollars_total") for count in range(3)]
    assert [float(lines[0].split()[-1]) for lines in shown] == [1.5, -2.0, 2.0]
    assert [float(lines[0].split()[-1]) for lines in counted] == [0.0, 0.0, 0.5]
