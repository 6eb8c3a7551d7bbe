"""`/sd/{kind}`: what a Prometheus finds there, in each state of an exporter."""

from itertools import chain
from pathlib import Path
from typing import Any

import httpx
import pytest

from exporter.sandbox import keys
from exporter.targets.selection import Selection
from exporter.targets.target import Inventory, Resource, ResourceList, TargetKey
from exporter.web.http_sd import INCOMPLETE
from tests.counters.sandboxed_daemons import running_daemon, sandboxed_daemons
from tests.shards.sharded_daemons import sharded_daemons
from tests.targets.test_registry import DISCOVERING, zones
from tests.waiting import until
from tests.web.view_setup import endpoints_client, view_setup

UP = "edge_target_up"
KINDS = ("dns_zone", "script", "shield_zone")
OUTAGE = {"kind": "status", "status": 500, "path_regex": ".*"}


async def groups(client: httpx.AsyncClient, path: str) -> list[dict[str, Any]]:
    """Return the groups of an answer, which must be as Prometheus requires it."""
    answer = await client.get(f"/sd/{path}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    found: list[dict[str, Any]] = answer.json()
    for group in found:
        assert set(group) == {"targets", "labels"}
        assert all(isinstance(text, str) for text in [*group["targets"], *group["labels"].values()])
    return found


async def addresses(client: httpx.AsyncClient, path: str) -> list[str]:
    return [address for group in await groups(client, path) for address in group["targets"]]


async def test_a_group_has_the_address_and_what_is_known_of_a_target(tmp_path: Path) -> None:
    async with sharded_daemons(tmp_path, zones=3) as shared, shared.running(1) as (pod,):
        scripts = await groups(pod.client, "script?account=main")
        found = await groups(pod.client, "dns_zone?account=second")
        shields = await groups(pod.client, "shield_zone")
    meta = "__meta_edge_"
    known = {"account": "second", "kind": "dns_zone", "id": "101", "name": "prod-shop.example"}
    labels = {meta + label: value for label, value in known.items()}
    assert found[0] == {"targets": ["prod-shop.example"], "labels": labels}
    assert [group["labels"][f"{meta}id"] for group in found] == ["101", "102", "103"]
    assert len(shields) == 2 * 6
    script = scripts[0]
    assert script["targets"] == [script["labels"][f"{meta}default_hostname"]]
    assert {label.removeprefix(meta) for label in script["labels"]} == {
        "account", "kind", "id", "name", "default_hostname", "system_hostname",
    }  # fmt: skip


async def test_each_exporter_lists_what_all_of_them_poll(tmp_path: Path) -> None:
    async with sharded_daemons(tmp_path) as shared, shared.running(3) as pods:
        for pod in pods:
            await pod.poll("discovery")
        for kind in KINDS:
            whole = [await groups(pod.client, kind) for pod in pods]
            own = [await addresses(pod.client, f"{kind}?shard=own") for pod in pods]
            assert whole[0] == whole[1] == whole[2] != []
            assert all(len(share) < len(whole[0]) for share in own), kind
            assert sorted(chain(*own)) == sorted(address for group in whole[0] for address in group["targets"])


WRONG = {
    "zone": (404, "service discovery has no kind 'zone'; it has: dns_zone, script, shield_zone"),
    "rate_limit": (404, "it has: dns_zone, script, shield_zone"),
    "dns_zone?account=other": (400, "account must be one of main, second, not 'other'"),
    "dns_zone?shard=all": (400, "shard must be one of own, not 'all'"),
    "dns_zone?name=x": (400, "there is no parameter 'name'; there are: account, shard"),
}


async def test_a_wrong_question_is_answered_with_what_there_is(tmp_path: Path) -> None:
    async with sharded_daemons(tmp_path, zones=1) as shared, shared.running(1) as (pod,):
        for path, (status, words) in WRONG.items():
            answer = await pod.client.get(f"/sd/{path}")
            assert (answer.status_code, words in answer.text) == (status, True), path


async def test_only_accounts_of_which_nothing_is_known_are_missing_and_all_of_them_is_no_answer(tmp_path: Path) -> None:
    async with sharded_daemons(tmp_path, zones=2) as shared:
        accounts = [
            {"name": name, "base_url": shared.url, "api_key": key}
            for name, key in (("main", keys.API_KEY), ("second", "wrong"), ("três", "wrong"))
        ]
        shared.more = {"accounts": accounts}
        async with running_daemon(lambda: shared.settings(0, 1)) as (daemon, client):
            await until(daemon.work.schedule.all_discovered)
            asked = ("", "?account=main", "?account=second")
            answers = [await client.get(f"/sd/dns_zone{more}") for more in asked]
    found = [(answer.status_code, answer.headers.get(INCOMPLETE)) for answer in answers]
    assert found == [(200, "second,tr%C3%AAs"), (200, None), (503, None)]
    assert (len(answers[0].json()), answers[2].text.rpartition(": ")[2]) == (2, "second\n")


async def test_an_outage_changes_nothing_and_neither_does_a_restart_in_it(tmp_path: Path) -> None:
    async with sandboxed_daemons(tmp_path) as sandboxed:
        async with sandboxed.daemon() as running:
            before = [await groups(running.client, kind) for kind in KINDS]
            sandboxed.faults.add(OUTAGE)
            await running.poll("discovery", "dns_statistics", "scripts")
            assert [await groups(running.client, kind) for kind in KINDS] == before
        sandboxed.world.dns.remove_zone(102)
        async with sandboxed.daemon(first_round=False) as running:
            assert [await groups(running.client, kind) for kind in KINDS] == before
            await running.settle()
            assert {f"dns_zone/{zone}" for zone in (101, 102, 103)} <= (await running.samples(UP, "target")).keys()
            sandboxed.faults.clear()
            await running.poll("discovery", "dns_statistics")
            assert len(await groups(running.client, "dns_zone")) == 2, "its own answer says that it is gone"
        # Without a state, nothing is known.
        sandboxed.state = tmp_path / "new.db"
        sandboxed.faults.add(OUTAGE)
        async with sandboxed.daemon(first_round=False) as running:
            assert [(await running.client.get(f"/sd/{kind}")).status_code for kind in KINDS] == [503] * 3
            await running.settle()
            sandboxed.faults.clear()
            await running.poll("discovery")
            assert len(await groups(running.client, "dns_zone")) == 2


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        (None, 503),
        (zones(complete=False), 503),
        (zones("a", complete=False), ["a"]),
        (zones(), []),
        (zones(""), 503),
    ],
    ids=["none", "short", "one", "empty", "unnamed"],
)
async def test_an_empty_answer_needs_a_complete_list(found: Inventory | None, answer: object) -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        setup.registry.configure([DISCOVERING])
        if found is not None:
            setup.registry.apply("main", found)
        got = await client.get("/sd/dns_zone")
        assert answer == (got.status_code if got.is_error else [group["targets"][0] for group in got.json()])


async def test_the_kinds_of_configured_lists_are_there_too_without_those_that_have_no_name() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        setup.registry.configure([])
        assert (await client.get("/sd/dns_zone")).json() == [], "there is no account"
        refused = await client.get("/sd/dns_zone?account=main")
        assert (refused.status_code, refused.text) == (400, "account must be left out: there is no account to choose\n")
        setup.registry.configure([Selection("main", "pull_zone", discover=True), Selection("main", "dns_zone")])
        assert (await client.get("/sd/dns_zone")).json() == [], "none is configured, and none is looked for"
        unknown = await client.get("/sd/pull_zone")
        setup.registry.apply("main", Inventory({"pull_zone": ResourceList((Resource("8"),), complete=True)}))
        assert (await client.get("/sd/pull_zone")).json() == []
        lists = {"pull_zone": ResourceList((Resource("7", "shop"), Resource("8")), complete=True)}
        setup.registry.apply("main", Inventory(lists))
        listed = await client.get("/sd/pull_zone")
        assert (unknown.status_code, [group["targets"] for group in listed.json()]) == (503, [["shop"]])


async def test_a_script_whose_host_name_may_still_come_is_no_reason_for_an_empty_answer() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        setup.registry.configure([Selection("main", "script", discover=True)])
        setup.registry.apply("main", Inventory({"script": ResourceList((Resource("7", "router"),), complete=True)}))
        answers = [await client.get("/sd/script")]
        for facts in ({}, {"default_hostname": "router.example"}):
            setup.registry.record_facts(TargetKey.of("main", "script", "7"), facts)
            answers.append(await client.get("/sd/script"))
    assert [answer.status_code for answer in answers] == [503, 200, 200]
    assert [[group["targets"] for group in answer.json()] for answer in answers[1:]] == [[], [["router.example"]]]


async def test_a_spare_lists_nothing() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        setup.registry.configure([DISCOVERING])
        setup.registry.apply("main", zones("a"))
        setup.spare = "spare: 2 of 2 shards are held, says \udcff"
        answer, ready = [await client.get(path) for path in ("/sd/dns_zone", "/-/ready")]
        assert "<p>All targets: spare: 2 of 2 shards are held, says \\udcff." in (await client.get("/explain")).text
        assert (await client.get("/api/v1/explain?target=a")).json()["others"] == {"a": setup.spare}
    assert (answer.status_code, answer.text) == (503, "spare: 2 of 2 shards are held, says \\udcff\n")
    assert (ready.status_code, ready.text) == (200, f"ready, {answer.text}")
