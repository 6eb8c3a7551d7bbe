"""The payload or the error that an answer's body gives."""

import json
from typing import Any

import pytest

from exporter.platform import errors
from exporter.platform.api import containers, dns, scripting, shield
from exporter.platform.api.catalogue import OPERATIONS
from exporter.platform.errors import EnvelopeError, NotAvailable, NotJson, PlatformError, WrongShape, error_for_status
from exporter.platform.http.responses import Failure, failure_in, payload, status_error
from exporter.platform.operation import Operation

ENVELOPED = [one for one in OPERATIONS if one.path.startswith("/shield/") and one is not shield.CUSTOM_RULE]
OVERVIEW = {"totalBreaches": 1, "loggedBreaches": 1, "challengedBreaches": 0, "blockedBreaches": 0}


def refused(operation: Operation[Any], body: object, status: int = 200) -> PlatformError:
    """Return the error for a success status with this body: bytes, a text, or what is written as JSON."""
    raw = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    with pytest.raises(PlatformError) as caught:
        payload(operation, raw, status)
    return caught.value


def reported(error: PlatformError) -> tuple[type[PlatformError], int, str, str]:
    return (type(error), error.status, error.error_key, str(error))


def failed(**error: object) -> dict[str, object]:
    """Return an envelope with a failure."""
    return {"data": None, "error": {"success": False, **error}}


SAID = "the platform answered 200 with a failure: "
OTHER_SHAPE = "the body has another shape than documented: "
NO_INTEGER = "Input should be a valid integer, unable to parse string as an integer"
RULE_FAILURE = {"success": False, "message": "No such rule", "errorKey": "not_found.waf_rule"}
# A body under status 200, and the error that it is.
REFUSED: dict[str, tuple[Operation[Any], object, type[PlatformError], str]] = {
    "a failure beside a payload": (
        *(shield.RATE_LIMIT, {"data": {"overview": OVERVIEW}, "error": {"success": False, "message": "stale"}}),
        *(EnvelopeError, SAID + "stale"),
    ),
    "a custom rule that is missing": (
        *(shield.CUSTOM_RULE, {"id": 0, "ruleName": None, "errorResponse": RULE_FAILURE}),
        *(EnvelopeError, SAID + "No such rule"),
    ),
    "a custom rule that is a status": (shield.CUSTOM_RULE, {"statusCode": 404}, EnvelopeError, SAID + "status 404"),
    "a custom rule without fields": (
        *(shield.CUSTOM_RULE, "{}", WrongShape, "the body has none of the documented fields"),
    ),
    "a list that is an error object": (
        *(containers.TAGS, {"data": None, "success": False, "message": "no such image", "errorKey": "image.unknown"}),
        *(EnvelopeError, SAID + "no such image"),
    ),
    "empty": (dns.STATISTICS, b"", NotJson, "the platform answered 200 with an empty body"),
    "blank": (dns.STATISTICS, b" \r\n", NotJson, "the platform answered 200 with an empty body"),
    "HTML": (dns.STATISTICS, b" <html></html>", NotJson, "the platform answered 200 with a body that is HTML"),
    "cut": (dns.STATISTICS, b'{"T": 1', NotJson, "the platform answered 200 with a body that is not whole JSON"),
    "binary": (dns.STATISTICS, b"\x00\xff", NotJson, "the platform answered 200 with a body that is not whole JSON"),
    "no number": (
        *(dns.STATISTICS, {"TotalQueriesServed": "many"}, WrongShape),
        OTHER_SHAPE + f"TotalQueriesServed: {NO_INTEGER}",
    ),
    "no object": (
        *(dns.STATISTICS, {"QueriesServedChart": [1]}, WrongShape),
        OTHER_SHAPE + "QueriesServedChart: Input should be an object",
    ),
    "other fields": (dns.STATISTICS, {"Message": "hi"}, WrongShape, "the body has none of the documented fields"),
    "an error of scripts": (dns.STATISTICS, {"ErrorKey": "x", "Field": "y", "Message": "z"}, EnvelopeError, SAID + "z"),
    # The places are named, and never the values.
    "secrets": (
        *(scripting.READ, {"DeploymentKey": ["s3cret"], "Integration": {"DeployConfiguration": "s3cret"}}, WrongShape),
        OTHER_SHAPE + "Integration.DeployConfiguration: Input should be an object; "
        "DeploymentKey: Input should be a valid string",
    ),
    "NaN": (
        *(scripting.READ, '{"MonthlyCost": NaN}', errors.OutOfRange),
        "a number of the body is out of range: MonthlyCost: Input should be a finite number",
    ),
    "infinite": (
        *(scripting.READ, '{"MonthlyCost": 1e999}', errors.OutOfRange),
        "a number of the body is out of range: MonthlyCost: Input should be a finite number",
    ),
}


@pytest.mark.parametrize(("operation", "body", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_a_success_that_cannot_be_used_says_why(
    operation: Operation[Any], body: object, kind: type[PlatformError], message: str
) -> None:
    assert reported(refused(operation, body))[::3] == (kind, message)


@pytest.mark.parametrize("status", [200, 202])
@pytest.mark.parametrize("operation", ENVELOPED, ids=lambda operation: operation.name)
def test_an_envelope_failure_is_one_under_any_success_status(operation: Operation[Any], status: int) -> None:
    key = "not_found_or_unauthorised_access.shieldzone"
    said = f"the platform answered {status} with a failure: Shield zone not found"
    error = refused(operation, failed(message="Shield zone not found", errorKey=key), status)
    assert reported(error) == (EnvelopeError, status, key, said)


@pytest.mark.parametrize("key", ["invalid_plan_type.bot_detection", "api_guardian.get_api_guardian.no_configuration"])
def test_what_a_plan_lacks_or_nobody_set_up_is_not_available(key: str) -> None:
    error = refused(shield.BOT_DETECTION, failed(message=None, errorKey=key, statusCode=0), 202)
    assert reported(error) == (NotAvailable, 202, key, f"the platform answered 202 with a failure: {key}")


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
    found = payload(shield.RATE_LIMIT, json.dumps({"data": {"overview": OVERVIEW}, "error": error}).encode(), 200)
    assert found.overview is not None
    rule = payload(shield.CUSTOM_RULE, json.dumps({"id": 21, "errorResponse": error}).encode(), 200)
    assert rule.id == 21


UNUSABLE: list[object] = [{"data": None, "error": None}, {"data": None}, {}, None, [], '"text"']


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ({"statusCode": 401}, errors.Unauthorized, 401),
        (failed(statusCode=401), errors.Unauthorized, 401),
        (failed(statusCode=403, message="no"), errors.Forbidden, 403),
        (failed(statusCode=429, message="slow down"), errors.RateLimited, 429),
        ({"statusCode": 429}, errors.RateLimited, 429),
        ({"statusCode": 500}, errors.ServerError, 500),
        ({"statusCode": 404}, EnvelopeError, 404),
        (failed(statusCode=0), WrongShape, 200),
        *((body, WrongShape, 200) for body in UNUSABLE),
    ],
)
@pytest.mark.parametrize("operation", [shield.RATE_LIMIT, shield.ZONES], ids=lambda operation: operation.name)
def test_an_envelope_without_data_is_the_failure_that_it_tells_of(
    operation: Operation[Any], body: object, kind: type[PlatformError], status: int
) -> None:
    assert reported(refused(operation, body))[:2] == (kind, status)


FIELDS = (("registryId", "is not known"), ("", "odd"))
DETAILS = {
    "title": "Validation failed",
    "status": 422,
    "detail": "See errors",
    "errors": [{"field": "registryId", "message": "is not known"}, {"message": "odd", "field": ""}, 7],
}
UNAUTHORIZED = {"type": "https://tools.ietf.org/html/rfc7231", "title": "Unauthorized", "detail": "The key is void."}
LONG_NAME = {"ErrorKey": "script.secret.name_too_long", "Field": "Name", "Message": "At most 256 characters"}
FAILURES: dict[str, tuple[object, Failure]] = {
    "empty": (b"", Failure()),
    "text": (b"Unauthorized\r\n", Failure("Unauthorized")),
    "HTML": (b"<html><h1>502 Bad Gateway</h1></html>", Failure()),
    "binary": (b"\xff\xfe\x00", Failure("\ufffd\ufffd")),
    "problem details": (UNAUTHORIZED, Failure("Unauthorized. The key is void.")),
    "field errors": (DETAILS, Failure("Validation failed. See errors. registryId: is not known", "", FIELDS)),
    "script error": (
        LONG_NAME,
        Failure("At most 256 characters", "script.secret.name_too_long", (("Name", "At most 256 characters"),)),
    ),
    "envelope": (failed(message="Not found", errorKey="not_found.limit"), Failure("Not found", "not_found.limit")),
    "status only": ({"statusCode": 401}, Failure()),
    "database": ({"error": "Unauthorized: the token is void"}, Failure("Unauthorized: the token is void")),
    "nulls": ({"title": None, "errors": None, "error": None, "ErrorKey": None}, Failure()),
    "wrong types": ({"title": 7, "errors": {"a": 1}, "error": [], "message": {"b": 2}}, Failure()),
    "a list": (b"[1, 2]", Failure()),
    "too deep": (b"[" * 100_000, Failure("[" * 299 + "…")),
}


@pytest.mark.parametrize(("body", "failure"), FAILURES.values(), ids=FAILURES)
def test_each_documented_error_shape_is_understood(body: object, failure: Failure) -> None:
    assert failure_in(body if isinstance(body, bytes) else json.dumps(body).encode()) == failure


def test_an_error_status_carries_what_its_body_says() -> None:
    error = status_error(422, json.dumps(DETAILS).encode(), 4.0)
    said = "the platform answered 422: Validation failed. See errors. registryId: is not known"
    assert reported(error) == (errors.Rejected, 422, "", said)
    assert (error.fields, error.retry_after) == (FIELDS, 4.0)


def test_each_status_has_its_class() -> None:
    named = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 408: "RequestTimeout", 429: "RateLimited"}
    kinds = (
        dict.fromkeys((300, 302, 304, 308), "Redirected")
        | dict.fromkeys((400, 405, 407, 409, 418, 422), "Rejected")
        | dict.fromkeys((500, 502, 503, 504, 599), "ServerError")
        | named
    )
    assert {status: error_for_status(status).__name__ for status in kinds} == kinds


def every_kind(kind: type[PlatformError]) -> set[type[PlatformError]]:
    """Return an error class and all its subclasses."""
    return {kind}.union(*(every_kind(below) for below in kind.__subclasses__()))


def test_each_error_has_a_reason_of_its_own_and_only_what_may_go_better_is_tried_again() -> None:
    kinds = every_kind(PlatformError)
    assert len({kind.reason for kind in kinds}) == len(kinds)
    assert {kind.reason for kind in kinds if kind.retryable} == {
        "transport", "name", "refused", "reset", "not_http", "proxy", "connect_timeout", "timeout",
        "request_timeout", "rate_limited", "server_error",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [b'{"Domain": "caf\xe9.example"}', b'{"Domain": "caf\\ud800.example"}', b'\xef\xbb\xbf{"Domain": "caf.example"}'],
    ids=["invalid UTF-8", "a lone surrogate", "a byte order mark"],
)
def test_odd_text_spoils_one_name_and_not_the_answer(text: bytes) -> None:
    domain = getattr(payload(dns.RECORD_SCAN, text, 200), "domain", None)
    assert (domain or "").startswith("caf")
    assert (domain or "").encode().endswith(b".example")


def test_a_number_that_is_none_in_a_field_that_is_not_read_is_ignored() -> None:
    assert payload(scripting.READ, b'{"Id": 7, "Extra": NaN}', 200).id == 7
