import asyncio

import pytest

from exporter.targets.selection import Selection
from tests.web.view_setup import SCANS, STATISTICS, endpoints_client, view_setup, zone


async def test_no_name_makes_the_json_unreadable() -> None:
    names = ["\ud800", "\0", "x" * 10_240, '"\\', "\u2028", "</script>"]
    async with view_setup() as setup, endpoints_client(setup) as client:
        for number, name in enumerate(names):
            setup.succeed(zone(number, name), note=name)
        response = await client.get("/api/v1/targets")
    assert response.content.isascii()
    assert response.text.endswith("}\n")
    assert [target["name"] for target in response.json()["targets"]] == names


async def test_a_poll_that_is_overdue_is_next_now() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        setup.succeed(zone(9))
        setup.schedule.due[STATISTICS] = setup.clock() - 1000
        assert (await client.get("/api/v1/targets")).json()["targets"][0]["next_poll"] == setup.wall()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "200s 9s 10r 10s"),
        ("search=SHOP", "9s 10r 10s"),
        ("search=+shop++prod+", "9s"),
        ("search=shop&search=prod", "9s"),
        ("search=dns_zone/10", "10r 10s"),
        ("search=rate_limited", "200s"),
        ("search=other", "200s"),
        (f"collector={SCANS}", "10r"),
        (f"collector={SCANS}&collector={STATISTICS}", "200s 9s 10r 10s"),
        ("account=other&search=&state=", "200s"),
        ("state=failing&state=pending", "200s"),
        ("state=up&search=dev", "10r 10s"),
        ("offset=0&offset=3", "10s"),
        ("offset=99", ""),
    ],
)
async def test_targets_are_found_ordered_and_paged(query: str, found: str) -> None:
    async with view_setup("main", "other") as setup, endpoints_client(setup) as client:
        setup.succeed(zone(9, "prod-shop.example"), chart=[10, 10], took=0.3)
        setup.turn(5)
        setup.succeed(zone(10, "Dev-Shop.example"), chart=[90, 10], took=0.1)
        setup.succeed(zone(10, "Dev-Shop.example"), SCANS, took=0.2)
        setup.turn(5)
        setup.fail(zone(200, "prod-api.example", "other"), reason="rate_limited")
        answer = (await client.get(f"/api/v1/targets?{query}")).json()
    letters = {STATISTICS: "s", SCANS: "r"}
    rows = [row["target"].removeprefix("dns_zone/") + letters[row["collector"]] for row in answer["targets"]]
    assert (rows, answer["total"]) == (found.split(), 4)
    assert answer["matched"] == (4 if "offset" in query else len(rows))
    assert sum(answer["states"].values()) == (4 if "failing" in query else answer["matched"])


async def test_an_absence_of_an_account_names_twenty_targets_and_says_their_number() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        selections = [
            Selection("main", "dns_zone", tuple(map(zone, range(25)))),
            Selection("other", "dns_zone", (zone(1, account="other"),)),
        ]
        setup.registry.configure(selections)
        found = (await client.get("/api/v1/explain?family=edge_dns_window_queries")).json()["absences"]
    assert [(len(one["targets"]), one["number"]) for one in found] == [(20, 25), (1, 1)]


OFFSET = "offset must be a whole number of at most 9 digits, not"
# A request → the beginning of its refusal; empty if it is answered.
QUESTIONS = {
    "explain?family=edge_dns_queris_total": "no collector has a family named 'edge_dns_queris_total'; did you mean ",
    "explain?search=x": "there is no parameter 'search'; there are: family, target",
    "targets?colector=scripts": "there is no parameter 'colector'; there are: search, collector, account, state, ",
    "targets?collector=script": "collector must be one of dns_statistics, ",
    f"targets?account={'x' * 5000}": f"account must be one of main, not '{'x' * 100}'",
    "targets?state=ok": "state must be one of failing, pending, up, not 'ok'",
    f"targets?offset={'9' * 5000}": f"{OFFSET} '{'9' * 50}'",
    "targets?offset=-1": f"{OFFSET} '-1'",
    "targets?offset=%D9%A4": f"{OFFSET} '\u0664'",
    f"targets?search={'x' * 201}": "",
    "targets?offset=999999999": "",
}


async def test_a_wrong_question_is_refused_in_a_line() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        for question, words in QUESTIONS.items():
            answer = await client.get(f"/api/v1/{question}")
            assert (question, answer.status_code) == (question, 400 if words else 200)
            assert not words or answer.text.startswith(words), answer.text


async def test_others_use_the_event_loop_while_many_absences_are_found() -> None:
    async with view_setup() as setup:
        setup.registry.configure([Selection("main", "dns_zone", tuple(map(zone, range(2000))))])
        finding, turns = asyncio.create_task(setup.parts().explainer.absences(("edge_dns_window_queries",))), 0
        while not finding.done():
            await asyncio.sleep(0)
            turns += 1
    assert (turns > 3, sum(len(one.targets) for one in finding.result())) == (True, 2000)
