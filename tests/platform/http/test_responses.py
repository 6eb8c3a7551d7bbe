"""The payload or the error that an answer's body gives."""

from typing import Any

import pytest

from exporter.platform.api import containers, dns, scripting, shield
from exporter.platform.api.catalogue import OPERATIONS
from exporter.platform.errors import (
    EnvelopeError,
    Forbidden,
    NotAvailable,
    NotFound,
    NotJson,
    PlatformError,
    RateLimited,
    Redirected,
    Rejected,
    RequestTimeout,
    ServerError,
    Unauthorized,
    WrongShape,
    error_for_status,
)
from exporter.platform.http import responses
from exporter.platform.http.responses import Failure, failure_in, payload, status_error
from exporter.platform.operation import Operation

ENVELOPED = [
    operation
    for operation in OPERATIONS
    if operation.path.startswith("/shield/") and operation is not shield.CUSTOM_RULE
]
OVERVIEW = '{"totalBreaches": 1, "loggedBreaches": 1, "challengedBreaches": 0, "blockedBreaches": 0}'


def refused(operation: Operation[Any], body: str | bytes, status: int = 200) -> PlatformError:
    """Return the error for a success status with this body."""
    with pytest.raises(PlatformError) as caught:
        payload(operation, body.encode() if isinstance(body, str) else body, status)
    return caught.value


def reported(error: PlatformError) -> tuple[type[PlatformError], int, str, str]:
    return (type(error), error.status, error.error_key, str(error))


@pytest.mark.parametrize("status", [200, 202])
@pytest.mark.parametrize("operation", ENVELOPED, ids=lambda operation: operation.name)
def test_an_envelope_failure_is_one_under_any_success_status(operation: Operation[Any], status: int) -> None:
    body = (
        '{"data": null, "error": {"success": false, "message": "Shield zone not found", '
        '"errorKey": "not_found_or_unauthorised_access.shieldzone"}}'
    )
    assert reported(refused(operation, body, status)) == (
        EnvelopeError,
        status,
        "not_found_or_unauthorised_access.shieldzone",
        f"the platform answered {status} with a failure: Shield zone not found",
    )


@pytest.mark.parametrize(
    ("operation", "key"),
    [
        (shield.BOT_DETECTION, "invalid_plan_type.bot_detection"),
        (shield.API_GUARDIAN, "api_guardian.get_api_guardian.no_configuration"),
    ],
)
def test_what_a_plan_lacks_or_nobody_set_up_is_not_available(operation: Operation[Any], key: str) -> None:
    body = f'{{"data": null, "error": {{"success": false, "message": null, "errorKey": "{key}", "statusCode": 0}}}}'
    error = refused(operation, body, 202)
    assert reported(error) == (NotAvailable, 202, key, f"the platform answered 202 with a failure: {key}")
    assert (error.reason, error.retryable) == ("not_available", False)


@pytest.mark.parametrize(
    "error",
    [
        "null",
        '{"statusCode": 0, "success": false, "message": null, "errorKey": null}',
        '{"success": false, "message": "", "errorKey": ""}',
        '{"success": true, "message": "done", "errorKey": null}',
        "{}",
    ],
)
def test_a_defaulted_error_beside_a_payload_is_none(error: str) -> None:
    found = payload(shield.RATE_LIMIT, f'{{"data": {{"overview": {OVERVIEW}}}, "error": {error}}}'.encode(), 200)
    assert found.overview is not None


def test_a_failure_beside_a_payload_is_a_failure() -> None:
    body = f'{{"data": {{"overview": {OVERVIEW}}}, "error": {{"success": false, "message": "stale"}}}}'
    assert reported(refused(shield.RATE_LIMIT, body))[::3] == (
        EnvelopeError,
        "the platform answered 200 with a failure: stale",
    )


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ('{"statusCode": 401}', Unauthorized, 401),
        ('{"data": null, "error": {"statusCode": 401, "success": false}}', Unauthorized, 401),
        ('{"data": null, "error": {"statusCode": 403, "success": false, "message": "no"}}', Forbidden, 403),
        ('{"data": null, "error": {"statusCode": 429, "success": false, "message": "slow down"}}', RateLimited, 429),
        ('{"statusCode": 429}', RateLimited, 429),
        ('{"statusCode": 500}', ServerError, 500),
        ('{"statusCode": 404}', EnvelopeError, 404),
        ('{"data": null, "error": null}', WrongShape, 200),
        ('{"data": null}', WrongShape, 200),
        ("{}", WrongShape, 200),
        ('{"data": null, "error": {"statusCode": 0, "success": false}}', WrongShape, 200),
        ("null", WrongShape, 200),
        ("[]", WrongShape, 200),
        ('"text"', WrongShape, 200),
    ],
)
@pytest.mark.parametrize("operation", [shield.RATE_LIMIT, shield.ZONES], ids=lambda operation: operation.name)
def test_an_envelope_without_data_is_the_failure_that_it_tells_of(
    operation: Operation[Any], body: str, kind: type[PlatformError], status: int
) -> None:
    error = refused(operation, body)
    assert (type(error), error.status) == (kind, status)


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (
            (
                '{"id": 0, "ruleName": null, "errorResponse": {"success": false, "message": "No such rule", '
                '"errorKey": "not_found.waf_rule"}}'
            ),
            EnvelopeError,
            "the platform answered 200 with a failure: No such rule",
        ),
        ('{"statusCode": 404}', EnvelopeError, "the platform answered 200 with a failure: status 404"),
        ("{}", WrongShape, "the body has none of the documented fields"),
    ],
)
def test_a_custom_rule_tells_of_failures_in_its_own_way(body: str, kind: type[PlatformError], message: str) -> None:
    assert reported(refused(shield.CUSTOM_RULE, body))[::3] == (kind, message)


def test_a_custom_rule_with_a_defaulted_error_response_is_good() -> None:
    body = b'{"id": 21, "ruleName": "login", "errorResponse": {"success": false, "message": null, "errorKey": null}}'
    assert payload(shield.CUSTOM_RULE, body, 200).rule_name == "login"


def test_a_list_that_is_an_error_object_tells_what_it_says() -> None:
    body = '{"data": null, "success": false, "message": "no such image", "errorKey": "image.unknown"}'
    assert reported(refused(containers.TAGS, body)) == (
        EnvelopeError,
        200,
        "image.unknown",
        "the platform answered 200 with a failure: no such image",
    )


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b"", NotJson, "the platform answered 200 with an empty body"),
        (b" \r\n", NotJson, "the platform answered 200 with an empty body"),
        (b"<html><body>Sign in</body></html>", NotJson, "the platform answered 200 with a body that is HTML"),
        (b'{"TotalQueriesServed": 1', NotJson, "the platform answered 200 with a body that is not whole JSON"),
        (b"\x00\xff\xfe", NotJson, "the platform answered 200 with a body that is not whole JSON"),
        (
            b'{"TotalQueriesServed": "many"}',
            WrongShape,
            (
                "the body has another shape than documented: TotalQueriesServed: Input should be a valid integer, "
                "unable to parse string as an integer"
            ),
        ),
        (
            b'{"QueriesServedChart": [1]}',
            WrongShape,
            "the body has another shape than documented: QueriesServedChart: Input should be an object",
        ),
        (b'{"Message": "hello"}', WrongShape, "the body has none of the documented fields"),
        (
            b'{"ErrorKey": "x", "Field": "y", "Message": "z"}',
            EnvelopeError,
            "the platform answered 200 with a failure: z",
        ),
    ],
)
def test_a_success_that_cannot_be_used_says_why(body: bytes, kind: type[PlatformError], message: str) -> None:
    assert reported(refused(dns.STATISTICS, body))[::3] == (kind, message)


def test_an_error_names_the_place_and_never_the_value() -> None:
    secret = "the deployment key itself"
    body = f'{{"Id": 7, "DeploymentKey": ["{secret}"], "Integration": {{"DeployConfiguration": "{secret}"}}}}'
    message = str(refused(scripting.READ, body))
    assert secret not in message
    assert message == (
        "the body has another shape than documented: Integration.DeployConfiguration: Input should be an object; "
        "DeploymentKey: Input should be a valid string"
    )


FAILURES = {
    "empty": (b"", Failure()),
    "text": (b"Unauthorized\r\n", Failure("Unauthorized")),
    "HTML": (b"<html><h1>502 Bad Gateway</h1></html>", Failure()),
    "binary": (b"\xff\xfe\x00", Failure("\ufffd\ufffd")),
    "problem details": (
        (
            b'{"type": "https://tools.ietf.org/html/rfc7231#section-6.5.1", "title": "Unauthorized", "status": 401, '
            b'"detail": "The key is not known.", "instance": "/mc/registries/tags"}'
        ),
        Failure("Unauthorized. The key is not known."),
    ),
    "problem details with field errors": (
        (
            b'{"title": "Validation failed", "status": 422, "detail": "See errors", "instance": "/mc/registries/tags", '
            b'"errors": [{"field": "registryId", "message": "is not known"}, {"message": "odd", "field": ""}, 7], '
            b'"id": "q"}'
        ),
        Failure(
            "Validation failed. See errors. registryId: is not known",
            "",
            (("registryId", "is not known"), ("", "odd")),
        ),
    ),
    "script error": (
        b'{"ErrorKey": "script.secret.name_too_long", "Field": "Name", "Message": "At most 256 characters"}',
        Failure("At most 256 characters", "script.secret.name_too_long", (("Name", "At most 256 characters"),)),
    ),
    "envelope": (
        b'{"data": null, "error": {"success": false, "message": "Not found", "errorKey": "not_found.ratelimit"}}',
        Failure("Not found", "not_found.ratelimit"),
    ),
    "status only": (b'{"statusCode": 401}', Failure()),
    "database": (b'{"error": "Unauthorized: the token is void"}', Failure("Unauthorized: the token is void")),
    "nulls": (b'{"title": null, "errors": null, "error": null, "ErrorKey": null}', Failure()),
    "wrong types": (b'{"title": 7, "errors": {"a": 1}, "error": [], "message": {"b": 2}}', Failure()),
    "a list": (b"[1, 2]", Failure()),
    "too deep": (b"[" * 100_000, Failure("[" * 299 + "…")),
}


@pytest.mark.parametrize(("raw", "failure"), FAILURES.values(), ids=FAILURES)
def test_each_documented_error_shape_is_understood(raw: bytes, failure: Failure) -> None:
    assert failure_in(raw) == failure


def test_an_error_status_carries_what_its_body_says() -> None:
    error = status_error(422, FAILURES["problem details with field errors"][0], 4.0)
    assert reported(error) == (
        Rejected,
        422,
        "",
        "the platform answered 422: Validation failed. See errors. registryId: is not known",
    )
    assert (error.fields, error.retry_after) == ((("registryId", "is not known"), ("", "odd")), 4.0)


def test_each_status_has_its_class() -> None:
    kinds = {
        300: Redirected, 302: Redirected, 304: Redirected, 308: Redirected,
        400: Rejected, 401: Unauthorized, 403: Forbidden, 404: NotFound, 405: Rejected, 407: Rejected,
        408: RequestTimeout, 409: Rejected, 418: Rejected, 422: Rejected, 429: RateLimited,
        500: ServerError, 502: ServerError, 503: ServerError, 504: ServerError, 599: ServerError,
    }  # fmt: skip
    assert {status: error_for_status(status) for status in kinds} == kinds


def test_only_what_may_go_better_is_tried_again() -> None:
    retryable = {kind.reason for kind in every_kind(PlatformError) if kind.retryable}
    assert retryable == {
        "transport", "name", "refused", "reset", "not_http", "proxy", "connect_timeout", "timeout",
        "request_timeout", "rate_limited", "server_error",
    }  # fmt: skip


def every_kind(kind: type[PlatformError]) -> set[type[PlatformError]]:
    """Return an error class and all its subclasses."""
    return {kind}.union(*(every_kind(below) for below in kind.__subclasses__()))


def test_each_error_has_a_reason_of_its_own() -> None:
    kinds = every_kind(PlatformError)
    assert len({kind.reason for kind in kinds}) == len(kinds)


@pytest.mark.parametrize(
    "text",
    [b'{"Domain": "caf\xe9.example"}', b'{"Domain": "caf\\ud800.example"}', b'\xef\xbb\xbf{"Domain": "caf.example"}'],
    ids=["invalid UTF-8", "a lone surrogate", "a byte order mark"],
)
def test_odd_text_spoils_one_name_and_not_the_answer(text: bytes) -> None:
    domain = getattr(payload(dns.RECORD_SCAN, text, 200), "domain", None)
    assert (domain or "").startswith("caf")
    assert (domain or "").encode().endswith(b".example")


def test_a_number_that_is_none_is_refused() -> None:
    assert isinstance(refused(scripting.READ, '{"MonthlyCost": NaN}'), WrongShape)
    assert isinstance(refused(scripting.READ, '{"MonthlyCost": 1e999}'), WrongShape)
    assert responses.payload(scripting.READ, b'{"Id": 7, "Extra": NaN}', 200).id == 7
