from exporter.web.status_models import LedgerView
from tests.exporter_parts import START
from tests.web.view_setup import SCANS, STATISTICS, endpoints_client, view_setup, zone


async def test_the_targets_come_as_json() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        setup.succeed(zone(101, "shop.example"), chart=[1, 2.5], took=0.25)
        setup.fail(zone(102), SCANS, reason="timeout", message="no answer")
        setup.turn(5)
        response = await client.get("/api/v1/targets")
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "total": 2,
        "matched": 2,
        "offset": 0,
        "limit": 1000,
        "targets": [
            {
                "account": "main",
                "collector": "dns_statistics",
                "target": "dns_zone/101",
                "name": "shop.example",
                "state": "ok",
                "reason": "",
                "message": "",
                "last_success": START,
                "last_poll": START,
                "age": 5.0,
                "duration": 0.25,
                "chart": [1.0, 2.5],
            },
            {
                "account": "main",
                "collector": "dns_record_scans",
                "target": "dns_zone/102",
                "name": "",
                "state": "failing",
                "reason": "timeout",
                "message": "no answer",
                "last_success": None,
                "last_poll": START,
                "age": None,
                "duration": 0.2,
                "chart": [],
            },
        ],
    }


async def test_targets_are_filtered_sorted_and_paged_by_the_url() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        for number in range(5):
            setup.succeed(zone(number, f"zone-{number}.example"))
            setup.succeed(zone(number, f"zone-{number}.example"), SCANS)
        setup.fail(zone(3, "zone-3.example"))

        async def found(**params: str | list[str]) -> list[str]:
            answer = (await client.get("/api/v1/targets", params=params)).json()
            return [target["target"] for target in answer["targets"]]

        assert await found(state=["failing", "stale"]) == ["dns_zone/3"]
        assert await found(collector=SCANS, order="desc", limit="2") == ["dns_zone/4", "dns_zone/3"]
        assert await found(collector=[SCANS, STATISTICS], search="zone-3") == ["dns_zone/3", "dns_zone/3"]
        assert await found(collector=STATISTICS, limit="2", offset="4") == ["dns_zone/4"]
        assert await found(account="main", search="nowhere") == []


async def test_no_name_makes_the_json_unreadable() -> None:
    names = ["\ud800", "\0", '"\\', "\u2028", "x" * 10_240, "</script>"]
    async with view_setup() as setup, endpoints_client(setup) as client:
        for number, name in enumerate(names):
            setup.succeed(zone(number, name), note=name)
        response = await client.get("/api/v1/targets")
    assert response.content.isascii()
    assert [target["name"] for target in response.json()["targets"]] == [
        "?",
        "\N{REPLACEMENT CHARACTER}",
        '"\\',
        "\u2028",
        "x" * 1023 + "…",
        "</script>",
    ]


async def test_the_status_comes_as_json() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        setup.ledger = LedgerView(durable=True, saves=True, set_aside=None)
        setup.fail(zone(1))
        status = (await client.get("/api/v1/status")).json()
    assert list(status) == [
        "version",
        "started",
        "now",
        "ready",
        "waits_for",
        "blocked",
        "healthy",
        "ailment",
        "shard",
        "shards",
        "held",
        "leases",
        "series",
        "config_loaded",
        "config_faults",
        "unmatched_budgets",
        "ledger",
        "targets",
        "accounts",
        "collectors",
        "failures",
    ]
    assert status["targets"] == {"ok": 0, "failing": 1, "stale": 0, "pending": 0}
    assert status["ledger"] == {"durable": True, "saves": True, "set_aside": None}
    assert status["accounts"] == [
        {
            "account": "main",
            "up": True,
            "reason": "",
            "budget": 10.0,
            "demand": 0.0,
            "limits": {"requests_per_second": 10.0},
            "paused": 0.0,
            "max_in_flight": 4,
            "targets": 1,
            "failing": 1,
        }
    ]
    assert status["collectors"][0] == {
        "collector": "dns_statistics",
        "interval": 300.0,
        "effective_interval": 300.0,
        "targets": 1,
        "failing": 1,
        "next_run": 0.0,
        "last_duration": None,
    }
    assert status["failures"][0]["message"] == "it broke"


async def test_the_api_describes_itself_and_what_it_describes_is_there() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        endpoints = (await client.get("/api/v1/")).json()["endpoints"]
        for endpoint in endpoints:
            values = {"limit": "1", "offset": "0", "sort": "name", "order": "asc"}
            params = {name: values.get(name, "") for name in endpoint["parameters"]}
            assert (await client.get(f"/api/v1/{endpoint['path']}", params=params)).status_code == 200
    assert [endpoint["path"] for endpoint in endpoints] == ["status", "targets", "explain"]
