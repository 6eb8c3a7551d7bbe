"""The payload or the error that an answer's body gives: `errors.txt` has the result of each case."""

import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.platform.api import containers, dns, scripting, shield
from exporter.platform.api.operations import OPERATIONS
from exporter.platform.errors import PlatformError, class_for_status, may_be_retried, one_line
from exporter.platform.http.responses import failure_in, payload, status_error
from exporter.platform.operation import Operation
from tests.golden import assert_golden
from tests.platform.damage import damaged
from tests.platform.kinds_of_errors import KINDS_OF_ERRORS
from tests.platform.payloads import GOOD

OVERVIEW = {"totalBreaches": 1, "loggedBreaches": 1, "challengedBreaches": 0, "blockedBreaches": 0}


def bytes_of(body: object) -> bytes:
    """Return bytes as they are, and anything else as JSON."""
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def failed(**error: object) -> dict[str, object]:
    """Return an envelope with a failure."""
    return {"data": None, "error": {"success": False, **error}}


RULE_FAILURE = {"success": False, "message": "No such rule", "errorKey": "not_found.waf_rule"}
NO_DATA: list[object] = [{"data": None, "error": None}, {"data": None}, {}, None, [], '"text"']
# Bodies under a success status that are a failure, or of no use.
REFUSED: list[tuple[Operation[Any], Mapping[str, object]]] = [
    (shield.RATE_LIMIT, {
        "a failure beside a payload": {"data": {"overview": OVERVIEW}, "error": {"success": False, "message": "stale"}},
    }),
    (shield.CUSTOM_RULE, {
        "missing": {"id": 0, "ruleName": None, "errorResponse": RULE_FAILURE},
        "a status": {"statusCode": 404},
        "without fields": {},
    }),
    (containers.TAGS, {
        "an error object": {"data": None, "success": False, "message": "no such image", "errorKey": "image.unknown"},
        "an error object without a key": {"success": False, "message": "busy"},
        "an error object with a capital": {"success": False, "Message": "busy"},
    }),
    (dns.STATISTICS, {
        "empty": b"", "blank": b" \r\n", "HTML": b" <html></html>", "cut": b'{"T": 1', "binary": b"\x00\xff",
        "no number": {"TotalQueriesServed": "many"}, "no object": {"QueriesServedChart": [1]},
        "no number beside odd text": b'{"TotalQueriesServed": "many", "Domain": "caf\xe9"}',
        "other fields": {"Message": "hi"}, "an error of scripts": {"ErrorKey": "x", "Field": "y", "Message": "z"},
    }),
    (scripting.READ, {
        # The places are named, and never the values.
        "secrets": {"DeploymentKey": ["s3cret"], "Integration": {"DeployConfiguration": "s3cret"}},
    }),
    (shield.BOT_DETECTION, {
        key: failed(message=None, errorKey=key, statusCode=0)
        for key in ("invalid_plan_type.bot_detection", "api_guardian.get_api_guardian.no_configuration", "a.Not_Found")
    }),
    *((operation, {
        **{f"status {status}": {"statusCode": status} for status in (399, 400, 401, 429, 500, 404)},
        **{f"enveloped status {status}": failed(statusCode=status) for status in (401, 0)},
        "a message alone": {"data": None, "message": "maintenance"},
        "enveloped status 403": failed(statusCode=403, message="no"),
        "enveloped status 500 with a key": failed(statusCode=500, errorKey="a.b"),
        "enveloped status 500 with a message": failed(statusCode=500, message="no"),
        "enveloped status 429": failed(statusCode=429, message="slow down"),
        **{f"no data: {body!r}": body for body in NO_DATA},
    }) for operation in (shield.RATE_LIMIT, shield.ZONES)),
    *((operation, {"a failure": failed(message="Shield zone not found", errorKey="not_found.shieldzone")})
      for operation in OPERATIONS if operation.path.startswith("/shield/") and operation is not shield.CUSTOM_RULE),
]  # fmt: skip
DETAILS = {
    "title": "Validation failed",
    "status": 422,
    "detail": "See errors",
    "errors": [
        {"field": "registryId", "message": "is not known"},
        *({"field": "name", "message": "See errors"}, {"message": "odd", "field": ""}, 7),
    ],
}
# Bodies under an error status.
FAILURES: dict[str, object] = {
    "empty": b"",
    "text": b"Unauthorized\r\n",
    "JSON text": b'"Unauthorized"',
    "HTML": b"<html><h1>502 Bad Gateway</h1></html>",
    "binary": b"\xff\xfe\x00",
    "problem details": {"type": "https://tools.ietf.org", "title": "Unauthorized", "detail": "The key is void."},
    "field errors": DETAILS,
    "script error in Latin-1": b'{"ErrorKey": "script.name_too_long", "Field": "Name", "Message": "caf\xe9 is long"}',
    "envelope": {"message": "see error", **failed(message="Not found", errorKey="not_found.limit")},
    "status only": {"statusCode": 401},
    "database": {"error": "Unauthorized: the token is void"},
    "wrong types": {"title": 7, "errors": {"a": 1}, "error": [], "message": {"b": 2}, "ErrorKey": None},
    "a list": b"[1, 2]",
    "too deep": b"[" * 100_000,
}
STATUSES = (300, 302, 304, 308, 400, 401, 403, 404, 405, 407, 408, 409, 418, 422, 429, 500, 502, 503, 504, 599)


def test_each_documented_failure_is_understood() -> None:
    lines = []
    for operation, bodies in REFUSED:
        for words, body in bodies.items():
            with pytest.raises(PlatformError) as caught:
                payload(operation, bytes_of(body), 202, set())
            error = caught.value
            told = f"{type(error).__name__} of {error.status}, {error.error_key!r}: {error}"
            lines.append(f"{operation.name}, {words}: {told}")
    failures = {words: failure_in(bytes_of(body)) for words, body in FAILURES.items()}
    lines += [f"{words}: {one._replace(message=one_line(one.message))}" for words, one in failures.items()]
    lines += [f"{status}: {class_for_status(status).__name__}" for status in STATUSES]
    for status, key in product((400, 403, 404, 500), ("invalid_plan_type.waf", "not_found.rule")):
        error = status_error(status, bytes_of({"errorKey": key}), None)
        lines.append(f"{status} with {key}: {type(error).__name__}")
    assert_golden("".join(f"{line}\n" for line in lines), Path(__file__).parent / "errors.txt")


@pytest.mark.parametrize(
    "error",
    [
        None,
        {"statusCode": 0, "success": False, "message": None, "errorKey": None},
        {"success": False, "message": "", "errorKey": ""},
        {"success": True, "message": "done", "errorKey": None},
        {},
    ],
)
def test_a_defaulted_error_beside_a_payload_is_none(error: object) -> None:
    answer = {"data": {"overview": OVERVIEW}, "statusCode": 500, "error": error}
    assert payload(shield.RATE_LIMIT, bytes_of(answer), 200, set()).overview is not None
    assert payload(shield.CUSTOM_RULE, bytes_of({"id": 21, "errorResponse": error}), 200, set()).id == 21


def test_each_error_has_a_reason_of_its_own_and_only_what_may_go_better_is_tried_again() -> None:
    assert len({kind.reason for kind in KINDS_OF_ERRORS}) == len(KINDS_OF_ERRORS)
    assert {kind.reason for kind in KINDS_OF_ERRORS if may_be_retried(kind(""))} == {
        "transport", "name", "refused", "reset", "not_http", "proxy", "connect_timeout", "timeout",
        "request_timeout", "rate_limited", "server_error",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [b'{"Domain": "caf\xe9.example"}', b'{"Domain": "caf\\ud800.example"}', b'\xef\xbb\xbf{"Domain": "caf.example"}'],
    ids=["invalid UTF-8", "a lone surrogate", "a byte order mark"],
)
def test_odd_text_spoils_one_name_and_not_the_answer(text: bytes) -> None:
    domain = getattr(payload(dns.RECORD_SCAN, text, 200, set()), "domain", None)
    assert (domain or "").startswith("caf")
    assert (domain or "").encode().endswith(b".example")


def test_fields_that_are_not_read_are_ignored_whatever_they_hold() -> None:
    body = b'{"Id": 7, "Extra": NaN, "Integration": {"IntegrationId": 1, "Extra": {"a": [1, {"b": null}]}}}'
    assert payload(scripting.READ, body, 200, set()).id == 7


@given(raw=st.sampled_from(list(GOOD)).flatmap(damaged) | st.binary(max_size=200))
def test_any_body_of_an_error_status_is_understood(raw: bytes) -> None:
    assert len(str(status_error(400, raw, None))) <= 300
