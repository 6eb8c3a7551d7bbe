"""The request of each operation, byte by byte."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from exporter.platform.api import containers, database, dns, scripting, search, shield
from exporter.platform.api.catalogue import OPERATIONS
from exporter.platform.errors import CredentialError, PlatformError
from exporter.platform.operation import Request, Scalar
from tests.platform.clients import KEY, Kit, client_of
from tests.platform.raw_server import Line, RawRequest, RawServer, json_reply, raw_server, saying


@dataclass(frozen=True)
class Call:
    """Arguments of an operation, and its request."""

    method: str
    target: str
    body: str = ""
    path: Mapping[str, Scalar] = field(default_factory=dict)
    query: Mapping[str, Scalar] = field(default_factory=dict)
    content: Mapping[str, Any] | None = None


CALLS = {
    "dns_statistics": Call(
        "GET",
        "/dnszone/102/statistics?dateFrom=2026-01-08&dateTo=2026-02-08T12:00:00Z",
        path={"id": 102},
        query={"dateFrom": "2026-01-08", "dateTo": "2026-02-08T12:00:00Z"},
    ),
    "dns_record_scan": Call("GET", "/dnszone/102/records/scan", path={"zoneId": 102}),
    "script_update": Call("POST", "/compute/script/7", '{"Name":"router"}', path={"id": 7}, content={"Name": "router"}),
    "script_add_secret": Call(
        "POST",
        "/compute/script/7/secrets",
        '{"Name":"TOKEN","Secret":"s3cr\\u00e9t"}',
        path={"id": 7},
        content={"Name": "TOKEN", "Secret": "s3crét"},
    ),
    "container_tags": Call(
        "POST",
        "/mc/registries/tags",
        '{"registryId":"dockerhub","imageName":"nginx","imageNamespace":"library"}',
        content={"registryId": "dockerhub", "imageName": "nginx", "imageNamespace": "library"},
    ),
    "shield_bot_category_action": Call(
        "PUT",
        "/shield/shield-zone/3/bot-categorization/categories/2",
        '{"action":1}',
        path={"shieldZoneId": 3, "category": 2},
        content={"action": 1},
    ),
    "shield_access_list_switch": Call(
        "PATCH",
        "/shield/shield-zone/3/access-lists/configurations/11",
        '{"isEnabled":true}',
        path={"shieldZoneId": 3, "id": 11},
        content={"isEnabled": True},
    ),
    "shield_access_list": Call("GET", "/shield/shield-zone/3/access-lists/11", path={"shieldZoneId": 3, "id": 11}),
    "shield_api_guardian": Call("GET", "/shield/shield-zone/3/api-guardian", path={"shieldZoneId": 3}),
    "shield_bot_detection": Call("GET", "/shield/shield-zone/3/bot-detection", path={"shieldZoneId": 3}),
    "shield_zones": Call("GET", "/shield/shield-zones?page=2&perPage=1000", query={"page": 2, "perPage": 1000}),
    "shield_rate_limit_metrics": Call("GET", "/shield/metrics/rate-limit/55", path={"id": 55}),
    "shield_waf_custom_rule": Call("GET", "/shield/waf/custom-rule/21", path={"id": 21}),
    "shield_waf_plan_segmentation": Call("GET", "/shield/waf/rules/plan-segmentation"),
    "search": Call(
        "GET",
        "/search?search=a+b/c?%C3%A9%26%2B%3D%25&from=40&size=20",
        query={"search": "a b/c?é&+=%", "from": 40, "size": 20},
    ),
    "script": Call("GET", "/compute/script/7", path={"id": 7}),
    "script_read_by_update": Call("POST", "/compute/script/7", "{}", path={"id": 7}),
    "shield_zone_rate_limits": Call("GET", "/shield/metrics/rate-limits/3", path={"shieldZoneId": 3}),
    "database_pipeline": Call(
        "POST",
        "/v2/pipeline",
        '{"requests":[{"type":"execute","stmt":{"sql":"SELECT 1"}}]}',
        content={"requests": [{"type": "execute", "stmt": {"sql": "SELECT 1"}}]},
    ),
}
SCHEMES = {"access_key": ("accesskey", KEY), "bearer": ("authorization", f"Bearer {KEY}")}


async def ask(kit: Kit, server: RawServer, name: str) -> RawRequest:
    """Carry out an operation with any result, and return the received request."""
    operation = next(one for one in OPERATIONS if one.name == name)
    call = CALLS[name]
    try:
        await kit.client.find(Request(operation, path=call.path, query=call.query, body=call.content))
    except PlatformError as error:
        assert error.status == 200  # noqa: PT017 - the answer is none of the test's business
    return server.requests[-1]


def test_every_operation_has_its_literal_request() -> None:
    assert list(CALLS) == [operation.name for operation in OPERATIONS]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", CALLS)
async def test_an_operation_is_sent_as_it_is_documented(name: str, scheme: str) -> None:
    call = CALLS[name]
    async with raw_server(saying(json_reply("{}"))) as server, client_of(server.url, scheme=scheme) as kit:
        sent = await ask(kit, server, name)
    headers = {
        "host": f"127.0.0.1:{server.port}",
        "accept": "application/json, */*;q=0.5",
        "accept-encoding": "gzip",
        "user-agent": "edge-exporter",
    }
    if call.body:
        headers |= {"content-type": "application/json", "content-length": str(len(call.body))}
    name_of_key, key = SCHEMES[scheme]
    headers[name_of_key] = key
    expected = RawRequest(call.method, call.target, tuple(sorted(headers.items())), call.body.encode())
    actual = RawRequest(
        sent.method, sent.target, tuple(sorted((name.lower(), value) for name, value in sent.headers)), sent.body
    )
    assert expected == actual


async def test_a_base_url_keeps_its_path() -> None:
    async with raw_server(saying(json_reply("{}"))) as server, client_of(server.url + "/edge/v1/") as kit:
        sent = await ask(kit, server, "shield_rate_limit_metrics")
    assert sent.target == "/edge/v1/shield/metrics/rate-limit/55"


async def test_a_text_in_a_path_cannot_leave_its_place() -> None:
    async with raw_server(saying(json_reply("{}"))) as server, client_of(server.url) as kit:
        request = kit.client.message(Request(dns.RECORD_SCAN, {"zoneId": "1/../../{x}?a#b é"}))
    assert request.url == f"{server.url}/dnszone/1%2F..%2F..%2F%7Bx%7D%3Fa%23b%20%C3%A9/records/scan"


async def test_a_path_without_its_parameter_is_not_sent() -> None:
    async with raw_server(saying(json_reply("{}"))) as server, client_of(server.url) as kit:
        with pytest.raises(KeyError, match="zoneId"):
            await kit.client.call(Request(dns.RECORD_SCAN))
    assert server.requests == []


async def test_statistics_take_their_window_in_utc() -> None:
    east = timezone(timedelta(hours=2))
    async with raw_server(saying(json_reply('{"TotalQueriesServed": 1}'))) as server, client_of(server.url) as kit:
        await dns.statistics(kit.client, 102)
        await dns.statistics(
            kit.client, 102, datetime(2026, 1, 8, 1, tzinfo=east), datetime(2026, 2, 8, 12, 30, 5, 999, tzinfo=UTC)
        )
    assert [sent.target for sent in server.requests] == [
        "/dnszone/102/statistics",
        "/dnszone/102/statistics?dateFrom=2026-01-07T23:00:00Z&dateTo=2026-02-08T12:30:05Z",
    ]


async def test_the_endpoint_functions_send_what_their_arguments_say() -> None:
    def envelope(data: str) -> bytes:
        return json_reply(f'{{"data": {data}, "error": null}}')

    refused = '{"type": "error", "error": {"message": "no"}}'
    answers = {
        "/compute/script/7": json_reply('{"Id": 7}'),
        "/mc/registries/tags": json_reply('[{"name": "1.27"}]'),
        "/search?search=prod&from=0&size=1": json_reply('{"Total": 3}'),
        "/shield/waf/custom-rule/21": json_reply('{"id": 21}'),
        "/shield/waf/rules/plan-segmentation": envelope("[]"),
        "/shield/metrics/rate-limits/3": envelope("[]"),
        "/v2/pipeline": json_reply(f'{{"results": [{refused}, {refused}]}}'),
    }

    async def answer(request: RawRequest, line: Line) -> None:
        await line.send(answers.get(request.target, envelope("{}")))

    async with raw_server(answer) as server, client_of(server.url) as kit:
        caller = kit.client
        await scripting.script(caller, 7)
        await scripting.script_by_update(caller, 7)
        await containers.tags(caller, "dockerhub", "library", "nginx")
        await search.count(caller, "prod")
        await shield.rate_limit(caller, 55)
        await shield.zone_rate_limits(caller, 3)
        await shield.access_list(caller, 3, 11)
        await shield.api_guardian(caller, 3)
        await shield.bot_detection(caller, 3)
        await shield.custom_rule(caller, 21)
        await shield.plan_segmentation(caller)
        await database.execute(caller, ["SELECT 1", "SELECT 'é'"])
    assert [(sent.method, sent.target, sent.body) for sent in server.requests] == [
        ("GET", "/compute/script/7", b""),
        ("POST", "/compute/script/7", b"{}"),
        (
            "POST",
            "/mc/registries/tags",
            b'{"registryId":"dockerhub","imageName":"nginx","imageNamespace":"library"}',
        ),
        ("GET", "/search?search=prod&from=0&size=1", b""),
        ("GET", "/shield/metrics/rate-limit/55", b""),
        ("GET", "/shield/metrics/rate-limits/3", b""),
        ("GET", "/shield/shield-zone/3/access-lists/11", b""),
        ("GET", "/shield/shield-zone/3/api-guardian", b""),
        ("GET", "/shield/shield-zone/3/bot-detection", b""),
        ("GET", "/shield/waf/custom-rule/21", b""),
        ("GET", "/shield/waf/rules/plan-segmentation", b""),
        (
            "POST",
            "/v2/pipeline",
            (
                b'{"baton":null,"requests":[{"type":"execute","stmt":{"sql":"SELECT 1"}},'
                b'{"type":"execute","stmt":{"sql":"SELECT \'\\u00e9\'"}},{"type":"close"}]}'
            ),
        ),
    ]


async def test_a_rotated_key_is_used_from_the_next_call_on() -> None:
    keys = ["first", "second"]
    async with raw_server(saying(json_reply("{}"))) as server, client_of(server.url, read=lambda: keys[0]) as kit:
        await ask(kit, server, "shield_waf_plan_segmentation")
        keys.pop(0)
        await ask(kit, server, "shield_waf_plan_segmentation")
    assert [sent.header("AccessKey") for sent in server.requests] == ["first", "second"]


@pytest.mark.parametrize("key", ["", "two\r\nlines", "caf\u00e9", "nul\0", "tab\t"])
async def test_a_key_that_cannot_stand_in_a_header_is_not_sent(key: str) -> None:
    async with raw_server(saying(json_reply("{}"))) as server, client_of(server.url, read=lambda: key) as kit:
        with pytest.raises(CredentialError) as caught:
            await kit.client.call(Request(shield.PLAN_SEGMENTATION))
    assert (server.requests, str(caught.value)) == (
        [],
        "the key is empty, or holds characters that are not allowed in a header",
    )


async def test_calls_one_after_another_share_a_connection() -> None:
    async with raw_server(saying(json_reply('{"Total": 3}'))) as server, client_of(server.url) as kit:
        for _ in range(5):
            await search.count(kit.client, "prod")
    assert (len(server.requests), server.connections) == (5, 1)
