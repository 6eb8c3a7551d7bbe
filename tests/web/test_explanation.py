from tests.web.view_setup import SCANS, STATISTICS, endpoints_client, view_setup, zone


async def test_absences_are_filtered_by_collector_and_cause() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        setup.fail(zone(101), SCANS)
        found = (await client.get(f"/api/v1/explain?collector={SCANS}&cause=first_poll")).json()
        nothing = (await client.get(f"/api/v1/explain?collector={STATISTICS}&cause=failing")).json()
    assert [absence["target"] for absence in found["absences"]] == ["dns_zone/102"]
    assert (nothing["matched"], nothing["absences"], nothing["absent_families"]) == (0, [], 0)


async def test_absences_come_a_page_at_a_time_and_all_are_counted() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        pages = [
            (await client.get(f"/api/v1/explain?collector={SCANS}&limit=1&offset={offset}")).json()
            for offset in (0, 1, 2)
        ]
    assert [[absence["target"] for absence in page["absences"]] for page in pages] == [
        ["dns_zone/101"],
        ["dns_zone/102"],
        [],
    ]
    assert [(page["matched"], page["absent_families"]) for page in pages] == [(2, 14)] * 3


async def test_a_wrong_question_is_refused_in_a_line() -> None:
    refused = {
        "family=edge_dns_queris_total": "no family is named 'edge_dns_queris_total'; did you mean edge_dns_queries_",
        "collector=none": "collector cannot be 'none'; there are: dns_statistics",
        "cause=none": "cause cannot be 'none'; there are: collector_disabled",
        "limit=-1": "limit must be a whole number from 0 to 10000",
        "search=x": "there is no parameter 'search'",
    }
    async with view_setup() as setup, endpoints_client(setup) as client:
        for query, words in refused.items():
            response = await client.get(f"/api/v1/explain?{query}")
            assert (response.status_code, response.text.startswith(words)) == (400, True), response.text


async def test_a_target_of_which_nothing_is_known_is_named() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        setup.succeed(zone(101, "shop.example"))
        setup.registry.learn(zone(102), "unpolled.example")
        asked = "target=shop.example&target=unpolled.example&target=shop.exmaple"
        unknown = (await client.get(f"/api/v1/explain?{asked}&family=edge_dns_record_scan_found")).json()
    assert unknown["unknown_targets"] == ["shop.exmaple"]


async def test_the_page_of_a_part_of_the_absences_says_how_many_families_it_lists() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        setup.succeed(zone(101, "shop.example"))
        whole, part = [(await client.get(f"/explain?collector={SCANS}{limit}")).text for limit in ("", "&limit=1")]
        listed = (await client.get("/")).text
    assert ("listed" in whole, "7 of them are listed." in part) == (False, True)
    assert 'href="explain?target=dns_zone%2F101&amp;account=main"' in listed
