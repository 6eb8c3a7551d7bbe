from tests.web.view_setup import SCANS, STATISTICS, endpoints_client, view_setup, zone

FOUND = "family=edge_dns_record_scan_found"


async def test_an_absence_names_its_first_targets_and_their_number() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        setup.fail(zone(101, "shop.example"), SCANS, "timeout", message="no answer")
        setup.fail(zone(102), SCANS, "timeout", message="no answer within 10 s")
        answer = (await client.get(f"/api/v1/explain?{FOUND}")).json()
    assert answer["absences"] == [
        {
            "account": "main",
            "collector": SCANS,
            "families": ["edge_dns_record_scan_found"],
            "number": 2,
            "targets": [{"target": "dns_zone/101", "name": ""}, {"target": "dns_zone/102", "name": ""}],
            "cause": "failing",
            "since": answer["now"],
            "text": "failing since 2026-02-08 12:00:00 UTC: timeout: no answer",
        }
    ]


async def test_a_wrong_question_is_refused_in_a_line() -> None:
    refused = {
        "family=edge_dns_queris_total": "no family is named 'edge_dns_queris_total'; did you mean edge_dns_queries_",
        "search=x": "there is no parameter 'search'; there are: family, target",
    }
    async with view_setup() as setup, endpoints_client(setup) as client:
        for query, words in refused.items():
            response = await client.get(f"/api/v1/explain?{query}")
            assert (response.status_code, response.text.startswith(words)) == (400, True), response.text


async def test_a_named_target_without_absences_has_an_answer() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        setup.registry.learn(zone(102), "unpolled.example")
        asked = "target=unpolled.example&target=shop.exmaple"
        answer = (await client.get(f"/api/v1/explain?{asked}&{FOUND}")).json()
        page = (await client.get(f"/explain?{asked}&{FOUND}")).text
    assert [one["text"] for one in answer["absences"]] == ["not polled yet"]
    assert answer["others"] == {"shop.exmaple": "not known, or removed"}
    assert "shop.exmaple</bdi>: not known, or removed." in page


async def test_the_page_links_to_each_target_and_the_status_page_to_its_absences() -> None:
    async with view_setup() as setup, endpoints_client(setup) as client:
        setup.succeed(zone(101, "shop.example"), STATISTICS, note="the plan has none")
        pages = [(await client.get(path)).text for path in ("/explain", "/")]
    assert all('href="explain?target=dns_zone%2F101"' in page for page in pages)
    assert "the platform has none: the plan has none" in pages[0]
    assert "the platform has none: the plan has none" in pages[1]
