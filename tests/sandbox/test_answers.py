"""The golden of the sandbox: what each request of a table is answered, byte for byte, in a seeded world at a set time.

A request is written `METHOD PATH [key=… bearer=… basic=… type=… host=…] [BODY]`. Without these words it has the account
owner's key, and a body is JSON; `key=-` is no key. Each group of requests has a world of its own.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx

from exporter.sandbox import keys
from exporter.sandbox.app import create_app
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.world import World
from tests.golden import assert_golden
from tests.sandbox.pipelines import BATCHES, BODIES, STABLE

GOLDEN = Path(__file__).with_name("answers.txt")
NOON = 1_770_379_200.0  # 2026-02-06T12:00:00Z, a Friday
WORD = re.compile(r"(key|bearer|basic|type|host)=(\S*) ?")
# Bodies that are too long for the table.
BODY = {"@large": '{"Name": "' + "x" * 1_100_000 + '"}', "@deep": "[" * 100_000}

ZONE = "/shield/shield-zone/3"
IMAGE = '{"registryId": "dockerhub", "imageNamespace": "library", "imageName": "nginx"}'
# An example of each operation → requests that it answers otherwise; those of wrong access and forms are added.
OPERATIONS: dict[str, tuple[str, ...]] = {
    "GET /dnszone/{101}/statistics": (
        *(f"GET /dnszone/{zone}/statistics" for zone in range(102, 113)),
        *(
            f"GET /dnszone/101/statistics?{query}"
            for query in (
                "dateFrom=2025-02-01&dateTo=2025-02-03T00:00:00Z", "dateFrom=2026-02-01", "dateTo=2026-02-01",
                "dateFrom=&dateTo=2025-02-01", "dateFrom=2030-01-01&dateTo=2030-01-05", "dateFrom=yesterday",
                "dateTo=2026-13-01", "dateFrom=2026-02-30", "dateFrom=2026-02-02&dateTo=2026-02-01",
                "dateFrom=20260201", "dateFrom=x&dateTo=y", "dateFrom=2026-02-06T06:00:00Z&dateTo=2026-02-06T09:00:00Z",
                "dateFrom=2026-02-06T06:00:00.5%2B02:00&dateTo=2026-02-06T24:00:00Z",
                "dateFrom=2026-02-05&dateFrom=2026-02-04&dateTo=2026-02-05",
            )
        ),
        "GET /dnszone/1/statistics?dateFrom=x",
    ),
    "GET /dnszone/{101}/records/scan": tuple(f"GET /dnszone/{zone}/records/scan" for zone in range(102, 113)),
    "GET /compute/script": tuple(
        f"GET /compute/script?{query}"
        for query in ("page=0", "page=-1", "page=2", "page=x", "page=", "perPage=x", "perPage=-1", "perPage=1",
                      "perPage=3&page=2", "perPage=1000", "perPage=1001", "perPage=9223372036854775808", "page=1.0",
                      "page=2&page=1", "page=x&perPage=y", "page=%2B1", "page=1_0", "page=0&perPage=1001")
    ),
    "GET /compute/script/{7}": ("GET /compute/script/8", "GET /compute/script/9", "GET /compute/script/10"),
    'POST /compute/script/{7} {"Name": "new", "ScriptType": 2}': (
        *(
            f"POST /compute/script/7 {body}"
            for body in ("{}", '{"Name": null}', '{"Name": 7}', '{"Name": ""}', '{"ScriptType": 3}', '{"Other": 1}',
                         '{"ScriptType": true}', '{"ScriptType": "1"}', '{"ScriptType": 1.0}', '{"Name": NaN}',
                         '{"Name": 7, "ScriptType": -1}', '{"Name": "' + "x" * 257 + '"}', '{"ScriptType": 0}')
        ),
        'POST /compute/script/99 {"Name": 7}',
        "GET /compute/script/7",
    ),
    'POST /compute/script/{7}/secrets {"Name": "API_TOKEN", "Secret": "hush-hush"}': (
        *(
            f"POST /compute/script/7/secrets {body}"
            for body in ('{"Secret": "s"}', '{"Name": "", "Secret": "s"}', '{"Name": "ok"}', "{}",
                         '{"Name": "ok", "Secret": 1}', '{"Name": "ok", "Secret": "' + "x" * 4_097 + '"}',
                         '{"Name": "ok", "Secret": ""}')
        ),
        "GET /compute/script/7",
    ),
    f"POST /mc/registries/tags {IMAGE}": (
        *(
            f"POST /mc/registries/tags {json.dumps(json.loads(IMAGE) | changed)}"
            for changed in ({"registryId": "quay"}, {"registryId": 12}, {"imageName": ""}, {"imageNamespace": None},
                            {"imageName": "nothing"}, {"registryId": "12"}, {"registryId": "", "imageName": ""})
        ),
        'POST /sandbox/world {"event": "registry_reachable", "registry_id": "dockerhub", "reachable": false}',
        f"POST /mc/registries/tags {IMAGE}",
        'POST /mc/registries/tags {"registryId": "12", "imageNamespace": "team", "imageName": "image-worker"}',
        'POST /mc/registries/tags {"registryId": "github", "imageNamespace": "acme", "imageName": "orders-api"}',
        'POST /sandbox/world {"event": "registry_reachable", "registry_id": "dockerhub"}',
        'POST /sandbox/clock {"advance": 86400}',
        'POST /mc/registries/tags {"registryId": "github", "imageNamespace": "acme", "imageName": "orders-api"}',
    ),
    f'PUT {ZONE}/bot-categorization/categories/{{2}} {{"action": 1}}': (
        *(
            f"PUT {ZONE}/bot-categorization/categories/2 {body}"
            for body in ("{}", '{"action": 3}', '{"action": -1}', '{"action": "1"}', '{"action": true}',
                         '{"action": 1.0}', '{"action": null}', '{"action": 0, "more": 1}', '{"action": 2}')
        ),
        *(
            f'PUT /shield/shield-zone/{place} {{"action": 1}}'
            for place in ("2/bot-categorization/categories/2", "99/bot-categorization/categories/2",
                          "3/bot-categorization/categories/8", "3/bot-categorization/categories/255",
                          "x/bot-categorization/categories/y", "1/bot-categorization/categories/0")
        ),
        f'PUT {ZONE}/bot-categorization/categories/x {{"action": 3}}',
    ),
    f'PATCH {ZONE}/access-lists/configurations/{{111}} {{"isEnabled": false}}': (
        *(
            f"PATCH {ZONE}/access-lists/configurations/111 {body}"
            for body in ("{}", '{"isEnabled": "yes"}', '{"isEnabled": 1}', '{"isEnabled": null}', '{"isEnabled": true}')
        ),
        *(
            f'PATCH /shield/shield-zone/{place} {{"isEnabled": true}}'
            for place in ("3/access-lists/configurations/11", "99/access-lists/configurations/111",
                          "1/access-lists/configurations/111", "x/access-lists/configurations/x")
        ),
    ),
    f"GET {ZONE}/access-lists/{{11}}": tuple(
        f"GET /shield/shield-zone/{place}"
        for place in ("1/access-lists/5", "1/access-lists/6", "2/access-lists/8", "2/access-lists/9",
                      "3/access-lists/12", "1/access-lists/11", "99/access-lists/11", "99/access-lists/x",
                      "x/access-lists/11")
    ),
    "GET /shield/shield-zone/{3}/api-guardian": ("GET /shield/shield-zone/1/api-guardian",
                                                 "GET /shield/shield-zone/2/api-guardian"),
    "GET /shield/shield-zone/{3}/bot-detection": ("GET /shield/shield-zone/1/bot-detection",
                                                  "GET /shield/shield-zone/2/bot-detection"),
    "GET /shield/shield-zones": tuple(
        f"GET /shield/shield-zones?{query}"
        for query in ("page=0", "page=2", "page=one", "page=", "perPage=-1", "perPage=0", "perPage=4", "perPage=5",
                      "perPage=1000", "perPage=1001", "perPage=9223372036854775808", "page=0&perPage=x")
    ),
    "GET /shield/metrics/rate-limit/{7}": tuple(f"GET /shield/metrics/rate-limit/{place}" for place in (3, 4, 5, 6, 8)),
    "GET /shield/metrics/rate-limits/{3}": ("GET /shield/metrics/rate-limits/1", "GET /shield/metrics/rate-limits/2"),
    "GET /shield/waf/custom-rule/{21}": tuple(f"GET /shield/waf/custom-rule/{rule}" for rule in (7, 8, 14, 15, 22)),
    "GET /shield/waf/rules/plan-segmentation": (),
    "GET /search?search=PROD-shop": tuple(
        f"GET /search?{query}"
        for query in ("", "size=1000", "search=&from=20", "search=prod&from=2&size=2", "from=-1", "size=-1", "from=x",
                      "size=9223372036854775808", "size=0", "from=9999", "search=none", "size=&from=",
                      f"search={'x' * 1_001}", f"search={'x' * 1_000}", "search=%C3%BC%F0%9F%9A%80", "search=%FF")
    ),
    **{
        f"GET {path}": ()
        for path in ("/statistics", "/billing", "/compute/script/{7}/statistics", "/dnszone/{101}", "/pullzone/{501}",
                     "/storagezone/{701}", "/loadbalancer/{801}", "/storagezone", "/loadbalancer",
                     "/statistics?pullZone=501", "/statistics?pullZone=1")
    },
    "GET /pullzone": tuple(
        f"GET /pullzone?{query}" for query in ("page=2", "page=x", "page=0", "perPage=2", "perPage=x", "perPage=")
    ),
}  # fmt: skip
IDS = ("99", "abc", "-1", "1.5", "%2B7", "%207", "7.0", "1_0", "9223372036854775807", "9223372036854775808", "%D9%A7")
TYPES = ("application/json;charset=utf-8", "text/json", "application/merge-patch+json", "Application/JSON",
         "application/x-www-form-urlencoded", "text/plain", "application/xml", "")  # fmt: skip
FORMS = ("", "{", "[]", "null", '"x"', "@deep", "@large", '{"a": Infinity}', '{"a": 1}{}', "\ufeff{}")
LATER = 'POST /sandbox/clock {"advance": 278101.25}'
EXAMPLES = tuple(request.replace("{", "").replace("}", "") for request in OPERATIONS if request.startswith("GET"))

EVENTS = (
    '{"event": "dns_queries", "zone_id": 101, "queries": 5}', "GET /dnszone/101/statistics",
    '{"event": "dns_queries", "zone_id": 101, "queries": -5, "day": "2026-02-01"}', "GET /dnszone/101/statistics",
    '{"event": "dns_volume", "zone_id": 101, "queries_a_day": 1000}', "GET /dnszone/101/statistics",
    '{"event": "dns_day_dropped", "zone_id": 101, "day": "2026-02-01"}', "GET /dnszone/101/statistics",
    '{"event": "dns_day_restored", "zone_id": 101, "day": "2026-02-01"}', "GET /dnszone/101/statistics",
    '{"event": "dns_chart", "zone_id": 101, "chart": "smart", "shape": "null"}',
    '{"event": "dns_chart", "zone_id": 101, "chart": "record_types", "shape": "empty"}',
    '{"event": "dns_key_format", "zone_id": 101, "key_format": "date"}', "GET /dnszone/101/statistics",
    '{"event": "dns_bucket_hours", "zone_id": 101, "hours": 6}',
    '{"event": "dns_key_format", "zone_id": 101, "key_format": "fraction"}',
    "GET /dnszone/101/statistics?dateFrom=2026-02-01&dateTo=2026-02-03",
    '{"event": "dns_bucket_hours", "zone_id": 102, "hours": 48}',
    '{"event": "dns_key_format", "zone_id": 102, "key_format": "naive"}',
    "GET /dnszone/102/statistics?dateFrom=2026-02-01&dateTo=2026-02-04",
    '{"event": "zone_added", "name": "new.example"}', "GET /dnszone/113/statistics", "GET /search?search=new",
    '{"event": "zone_added", "name": "quiet.example", "zone_id": 500, "queries_a_day": 0, "routes_smartly": false}',
    '{"event": "dns_queries", "zone_id": 500, "queries": 40}', "GET /dnszone/500/statistics",
    '{"event": "zone_renamed", "zone_id": 102, "name": "renamed.example"}', "GET /search?search=renamed",
    '{"event": "zone_removed", "zone_id": 103}', "GET /dnszone/103/statistics",
    '{"event": "zone_added", "name": "back.example", "zone_id": 103}', "GET /dnszone/103/records/scan",
    '{"event": "scan_started", "zone_id": 101, "fails": true, "seconds": 60}', "GET /dnszone/101/records/scan",
    'POST /sandbox/clock {"advance": 15}', "GET /dnszone/101/records/scan",
    'POST /sandbox/clock {"advance": 46}', "GET /dnszone/101/records/scan",
    *(
        line
        for event in ("pending", "in_progress", "completed", "failed", "forgotten", "released")
        for line in (f'{{"event": "scan_{event}", "zone_id": 102}}', "GET /dnszone/102/records/scan")
    ),
    '{"event": "script_cost", "script_id": 7, "cost": 12.5, "requests": 10, "cpu_ms": 1}', "GET /compute/script/7",
    '{"event": "script_growth", "script_id": 8, "growth": 0}', 'POST /sandbox/clock {"advance": 7200}',
    "GET /compute/script/7", "GET /compute/script/8",
    '{"event": "script_added", "name": "new"}', "GET /compute/script/11",
    '{"event": "script_renamed", "script_id": 8, "name": "renamed"}', "GET /compute/script/8",
    '{"event": "script_deleted", "script_id": 8}', "GET /compute/script/8",
    '{"event": "script_deleted", "script_id": 10, "deleted": false}', "GET /compute/script/10",
    '{"event": "script_removed", "script_id": 9}', "GET /compute/script?perPage=5",
    '{"event": "breach_burst", "rate_limit_id": 7}', "GET /shield/metrics/rate-limit/7",
    '{"event": "rate_limit_added", "name": "new", "shield_zone_id": 3}',
    '{"event": "breach_burst", "rate_limit_id": 9, "logged": 1, "challenged": 2, "blocked": 3, "day": "2026-01-31"}',
    "GET /shield/metrics/rate-limits/3", '{"event": "rate_limit_removed", "rate_limit_id": 9}',
    "GET /shield/metrics/rate-limit/9", '{"event": "shield_zone_added", "name": "new-web"}',
    '{"event": "shield_zone_renamed", "shield_zone_id": 1, "name": "renamed-web"}', "GET /search?search=web",
    '{"event": "shield_zone_fields", "shield_zone_id": 1, "fields": {"planType": null, "wafEnabled": 7}}',
    "GET /shield/shield-zones", '{"event": "shield_zone_removed", "shield_zone_id": 2}', "GET /shield/shield-zones",
    "GET /shield/waf/custom-rule/14", "GET /shield/metrics/rate-limit/5",
    '{"event": "api_guardian_configured", "shield_zone_id": 3, "configured": false}',
    "GET /shield/shield-zone/3/api-guardian",
    '{"event": "access_list_entry", "access_list_id": 11, "entry": "203.0.113.0/24"}',
    "GET /shield/shield-zone/3/access-lists/11",
    '{"event": "custom_rule_added", "shield_zone_id": 3, "name": "new", "chained": 2}',
    "GET /shield/waf/custom-rule/23",
    '{"event": "custom_rule_removed", "rule_id": 22}', "GET /shield/waf/custom-rule/22",
    '{"event": "image_tag_added", "registry_id": "dockerhub", "namespace": "library", "name": "nginx", "tag": "v1"}',
    '{"event": "image_tag_removed", "registry_id": "dockerhub", "namespace": "library", "name": "nginx", "tag": "v1"}',
    f"POST /mc/registries/tags {IMAGE}", '{"event": "registry_reachable", "registry_id": "github", "reachable": false}',
    # Refused.
    "{}", '{"event": "earthquake"}', '{"event": 7}', '{"event": "scan_failed", "zone_id": "all"}',
    '{"event": "dns_queries", "zone_id": 101, "queries": 1000000000000}', '{"event": "scan_failed", "zone_id": 1}',
    '{"event": "dns_queries", "zone_id": 101, "queries": 1, "day": "yesterday"}', '{"event": "scan_failed"}',
    '{"event": "dns_bucket_hours", "zone_id": 101, "hours": 5}', '{"event": "dns_chart", "zone_id": 101}',
    '{"event": "zone_added", "name": "x", "zone_id": 101}', '{"event": "script_cost", "script_id": 1}',
    '{"event": "zone_added", "name": "x", "zone_id": 9223372036854775808}',
    '{"event": "dns_volume", "zone_id": 1, "queries_a_day": 1}', '{"event": "custom_rule_removed", "rule_id": "1"}',
    '{"event": "shield_zone_removed", "shield_zone_id": 99}', '{"event": "breach_burst", "rate_limit_id": 99}',
    '{"event": "access_list_entry", "access_list_id": 1, "entry": "x"}', "{", "[]",
    '{"event": "image_tag_added", "registry_id": "12", "namespace": "no", "name": "no", "tag": "no"}',
    '{"event": "scan_failed", "zone_id": 101, "why": "because"}', '{"event": "zone_added", "name": "x", "zone_id": 0}',
    # What is added last, and a list of two pages.
    "GET /search?search=after", '{"event": "zone_added", "name": "after"}', "GET /search?search=after",
    *('{"event": "shield_zone_added", "name": "more"}',) * 4,
    "GET /shield/shield-zones?perPage=5", "GET /shield/shield-zones?perPage=5&page=2",
    # Times may end early, and in no other way.
    "GET /dnszone/501/statistics?dateFrom=2026-02-06T06:00&dateTo=2026-02-06T09:00:00.5000000Z",
    "GET /dnszone/501/statistics?dateFrom=2026-02-06T06:00:00Zulu",
    # What is set ends with the month.
    'POST /sandbox/clock {"advance": 2592000}', "GET /compute/script/7", "GET /compute/script/8",
)  # fmt: skip
FAULTS = (
    # Refused.
    *(
        f"POST /sandbox/faults {fault}"
        for fault in (
            "", "{", "[]", "{}", '{"kind": "earthquake"}', '{"kind": "status"}', '{"kind": "status", "status": 100}',
            '{"kind": "status", "status": "503"}', '{"kind": "status", "status": 204, "body": "x"}',
            '{"kind": "status", "status": 503, "retry_after": 1, "retry_after_date": 1}',
            '{"kind": "status", "status": 503, "headers": {"Content-Length": "1"}}',
            '{"kind": "status", "status": 503, "headers": {"X Y": "1"}}',
            '{"kind": "status", "status": 503, "headers": {"X": "a\\r\\nb"}}', '{"kind": "delay"}',
            '{"kind": "delay", "seconds": -1}', '{"kind": "delay", "seconds": 1, "times": 0}',
            '{"kind": "delay", "seconds": 1, "path": "/a", "path_regex": "/b"}', '{"kind": "stall", "part": 1}',
            '{"kind": "delay", "seconds": 1, "path_regex": "("}', '{"kind": "reset", "point": "middle"}',
            '{"kind": "delay", "seconds": 1, "probability": 1.5}', '{"kind": "delay", "seconds": 1, "unknown": 1}',
            '{"kind": "delay", "path": "/a", "path_regex": "/b", "unknown": 1}', '{"kind": "oversize", "size": 1e9}',
            '{"kind": "redirect", "location": "http://x/\\n"}', '{"kind": "envelope", "status": 500}',
            '{"kind": "redirect", "location": "http://x/", "status": 200}', '{"kind": "drip", "seconds": 1, "size": 0}',
            '{"kind": "garbage", "place": "air"}', '{"kind": "short", "missing": 0}', '{"kind": "html", "status": 199}',
        )
    ),
    # Each kind that needs no connection, once.
    *(
        line
        for fault in (
            '{"kind": "status", "status": 429, "body": "no", "headers": {"X": "y"}, "retry_after": 7, "times": 1}',
            '{"kind": "status", "status": 400, "body": "é", "content_type": "text/x", "times": 1}',
            '{"kind": "status", "status": 503, "retry_after_date": 90, "times": 1}',
            '{"kind": "status", "status": 204, "times": 1}', '{"kind": "delay", "seconds": 0, "times": 1}',
            '{"kind": "drip", "seconds": 0, "size": 100, "times": 1}', '{"kind": "truncate", "part": 0.1, "times": 1}',
            '{"kind": "html", "times": 1}', '{"kind": "wrong_types", "times": 1}', '{"kind": "envelope", "times": 1}',
            '{"kind": "envelope", "status": 200, "error_key": "k", "message": "m", "status_code": 403, "times": 1}',
            '{"kind": "oversize", "size": 3, "times": 1}', '{"kind": "garbage", "size": 4, "times": 1}',
            '{"kind": "oversize", "size": 3, "announced": false, "times": 1}', '{"kind": "reset", "times": 1}',
            '{"kind": "redirect", "location": "http://x/", "status": 308, "times": 1}', '{"kind": "short", "times": 1}',
            '{"kind": "garbage", "place": "wire", "times": 1}',
            '{"kind": "status", "status": 500, "path": "/search", "times": 1}',
            '{"kind": "status", "status": 502, "method": "get", "path_regex": "/(search|billing)", "probability": 0.5}',
        )
        for line in (f"POST /sandbox/faults {fault}", "GET /search?search=api", "GET /search?search=api")
    ),
    "POST /compute/script/7 {}", "GET /sandbox/faults", "DELETE /sandbox/faults/1", "DELETE /sandbox/faults/1",
    "DELETE /sandbox/faults/x", "DELETE /sandbox/faults", "GET /search?search=api",
    # They apply by method, path and number, and one that no request can meet is refused.
    *(
        line
        for fault in (
            '"path": "/dnszone/101/statistics", "times": 1', r'"path_regex": "/dnszone/\\d+/statistics"',
            '"path_regex": "/dnszone/102"', '"method": "post"', '"path_regex": "/dnszone"', '"path": "/dnszone"',
            '"path_regex": "dnszone/.*"', '"path_regex": "/dnszone/101/statistic"', '"path": "/dnszone/999/statistics"',
            '"path_regex": "/dnszone/99999/.*"', '"path": "/v2/pipeline", "method": "GET"', '"path_regex": ".*"',
            '"path_regex": "/shield/shield-zone/3/access-lists/1[12]"',
        )
        for line in (f'POST /sandbox/faults {{"kind": "html", {fault}}}', "GET /dnszone/101/statistics",
                     "GET /dnszone/102/statistics", "POST /compute/script/7 {}", "GET /dnszone/101/statistics",
                     "DELETE /sandbox/faults")
    ),
)  # fmt: skip
CONTROL = (
    "GET /", "GET /sandbox", "GET /sandbox/", "GET /sandbox/world", "GET /sandbox/clock", "GET /sandbox/tokens",
    *(
        f"POST /sandbox/clock {change}"
        for change in ("", "{", "[]", "{}", '{"advance": "1"}', '{"advance": true}', '{"advance": 1e300}',
                       '{"speed": -1}', '{"speed": 1e9}', '{"advance": 1, "stop": true}', '{"advance": 1, "speed": -1}',
                       '{"advance": 86400}', '{"speed": 0, "advance": -86400.5}')
    ),
    *(
        f"POST /sandbox/tokens {action}"
        for action in ("", "{", "[]", '{"action": "show"}', '{"action": "generate"}', '{"action": "regenerate"}')
    ),
    *(
        f'POST /v2/pipeline key=- bearer={keys.DATABASE_TOKEN_FULL}{pair} {{"requests": [{{"type": "close"}}]}}'
        for pair in ("", "-2", "-3")
    ),
    *(
        f"{method} {path}"
        for path in ("/sandbox/faults", "/sandbox/faults/1", "/sandbox/clock", "/v2/pipeline", "/v3", "/dnszone/101",
                     "/compute/script", "/compute/script/7", "/compute/script/7/secrets", f"{ZONE}/access-lists/11",
                     "/search", "/search/", "/nothing", "//search", "/statistics", "/openapi.json/x", "/docs", "/redoc")
        for method in ("HEAD", "OPTIONS", "PUT", "DELETE")
    ),
)  # fmt: skip
READS = '{"requests": [{"type": "execute", "stmt": {"sql": "SELECT count(*) FROM orders"}}, {"type": "close"}]}'
WRITES = '{"requests": [{"type": "execute", "stmt": {"sql": "DELETE FROM orders"}}]}'
FULL = f"key=- bearer={keys.DATABASE_TOKEN_FULL}"
DATABASE = (
    *(
        f"POST /v{version}/pipeline key=- {access} {READS}"
        for version in (2, 3)
        for access in (f"bearer={keys.DATABASE_TOKEN_FULL}", f"bearer={keys.DATABASE_TOKEN_READ_ONLY}", "bearer=wrong",
                       f"bearer={keys.API_KEY}", "", f"basic={keys.DATABASE_TOKEN_FULL}", f"key={keys.API_KEY}")
    ),
    f"POST /v2/pipeline key=- bearer={keys.DATABASE_TOKEN_READ_ONLY} {WRITES}", "POST /v2/pipeline key=- {",
    *(f"POST /v2/pipeline {FULL} host={host} {READS}" for host in ("billing.lite.x", "BILLING.lite.x:80", "no.lite.x")),
    f"POST /v2/pipeline {FULL} type=text/plain {READS}", "GET /v2", "GET /v3", "GET /health",
    *(f"POST /v2/pipeline {FULL} {body}" for body in (*BODIES, "@deep", '{"requests": ["' + "x" * 5_000_000 + '"]}')),
    *(f"POST /v3/cursor {FULL} {body}" for body in ("", "{}", '{"baton": "unknown", "batch": {"steps": []}}')),
    *(f"POST /v3/cursor {FULL} {json.dumps({'batch': {'steps': steps}})}" for steps in BATCHES),
    *(f"POST /v3/pipeline {FULL} {json.dumps({'requests': requests})}" for requests in STABLE),
    # A libSQL server gives these parameters other names.
    f'POST /v2/pipeline {FULL} {{"requests": [{{"type": "describe", "sql": "SELECT ?, :a, ?, @b, :a, ?7, $c"}}]}}',
)  # fmt: skip


def groups() -> Iterator[tuple[str, list[str]]]:
    """Yield each group of requests with its name."""
    for request, more in OPERATIONS.items():
        method, path = request.split(" ")[:2]
        body = request.removeprefix(f"{method} {path}")
        plain = re.sub("[{}]", "", path)
        example = f"{method} {plain}"
        access = [f"key={key}" for key in World().keys] + [f"key=- bearer={key}" for key in World().keys]
        access += ["key=-", "key=", "key=wrong", "key=- bearer=wrong", f"key=- basic={keys.API_KEY}"]
        access += [f"key=wrong bearer={keys.BEARER_TOKEN}", f"key={keys.API_KEY} bearer=wrong"]
        lines = [example + body, *(f"{example} {words}{body}" for words in access), *more]
        if "{" in path:
            lines += [f"{method} {re.sub('{.*}', changed, path)}{body}" for changed in IDS]
        if body:
            lines += [f"{example} type={media_type}{body}" for media_type in TYPES]
            lines += [f"{example} {form}" for form in FORMS]
            lines += [f"{example} {words} {{" for words in ("key=-", "key=wrong", "key=- type=text/plain")]
        yield example, lines
    scans = (f"GET /dnszone/{zone}/records/scan" for zone in range(101, 113))
    yield "later", [LATER, *EXAMPLES]
    monthly = (example for example in EXAMPLES if re.search("script|billing|pullzone", example))
    yield "the next month", ['POST /sandbox/clock {"advance": 2100000}', *monthly]
    yield "healthy", [LATER, *scans, *(example for example in EXAMPLES if "/shield/" in example)]
    yield "events", [event if event[:1] in "GP" else f"POST /sandbox/world {event}" for event in EVENTS]
    yield "faults", [*FAULTS]
    yield "control", [*CONTROL]
    yield "database", [*DATABASE]


GROUPS = dict(groups())


async def answers(group: str) -> str:
    """Return the requests of a group with their answers."""
    world = World(clock=WorldClock(NOON, speed=0.0), healthy=group == "healthy")
    transport = httpx.ASGITransport(create_app(world), raise_app_exceptions=False)
    seen: dict[str, int] = {}
    lines = [f"=== {group}"]
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox") as client:
        client.headers.clear()
        for number, request in enumerate(GROUPS[group], 1):
            lines += shown(number, request, await ask(client, request), seen)
    world.close()
    return "\n".join(lines) + "\n"


async def ask(client: httpx.AsyncClient, request: str) -> httpx.Response:
    """Send a request of the table."""
    method, path, rest = f"{request} ".split(" ", 2)
    words = {"key": keys.API_KEY}
    while found := WORD.match(rest):
        words[found[1]], rest = found[2], rest[found.end() :]
    body = rest.rstrip(" ")
    names = {"key": "AccessKey", "bearer": "Authorization", "basic": "Authorization", "type": "Content-Type"}
    headers = {names.get(name, name): f"{name} {value}" if name in ("bearer", "basic") else value
               for name, value in words.items() if value != "-"}  # fmt: skip
    if method in ("POST", "PUT", "PATCH"):
        headers.setdefault("Content-Type", "application/json")
    return await client.request(method, path, content=BODY.get(body, body).encode(), headers=headers)


def shown(number: int, request: str, answer: httpx.Response, seen: dict[str, int]) -> Iterator[str]:
    """Write a request and its answer: status, headers and body; a body that came before is named by its number."""
    yield f"> {number} {request}" if len(request) < 400 else f"> {number} {request[:100]}… {len(request)} characters"
    length = answer.headers.pop("content-length", None)
    headers = [f"{name}: {value}" for name, value in answer.headers.items() if name != "date"]
    if length != str(len(answer.content)):
        headers.append(f"content-length: {length}")
    yield " ".join((str(answer.status_code), *headers))
    # How long a query took is the machine's.
    body = re.sub(rb'("query_duration_ms": ?)[\d.]+', rb"\g<1>0", answer.content).decode("utf-8", "backslashreplace")
    if body:
        first = seen.setdefault(body, number)
        yield "  " + (body.replace("\n", "\n  ") if first == number else f"= {first}")


async def test_every_answer_is_the_one_that_is_kept() -> None:
    assert_golden("".join([await answers(group) for group in GROUPS]), GOLDEN)
