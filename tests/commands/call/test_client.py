"""The result of a call, as an exit code and as text."""

import pytest

from exporter.commands.call.sending import description, exit_code
from exporter.platform import errors
from exporter.platform.errors import PlatformError


def every_error(kind: type[PlatformError] = PlatformError) -> list[type[PlatformError]]:
    return [kind, *(inner for child in kind.__subclasses__() for inner in every_error(child))]


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_every_error_has_the_exit_code_of_its_kind(kind: type[PlatformError]) -> None:
    expected = 1
    if issubclass(kind, errors.TransportError):
        expected = 3
    elif kind in (errors.Unauthorized, errors.Forbidden, errors.CredentialError):
        expected = 4
    elif kind is errors.NotFound:
        expected = 5
    elif kind is errors.RateLimited:
        expected = 6
    assert exit_code(kind("it failed")) == expected


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.EnvelopeError("no", error_key="not_found_or_unauthorised_access.shieldzone", status=202), 5),
        (errors.EnvelopeError("no", error_key="not_found.ratelimit_shieldzone", status=200), 5),
        (errors.EnvelopeError("no", status=404), 5),
        (errors.EnvelopeError("no", error_key="internal.failure", status=202), 1),
    ],
)
def test_an_envelope_that_tells_of_an_absence_counts_as_one(error: PlatformError, code: int) -> None:
    assert exit_code(error) == code


def test_an_error_is_told_with_its_key_and_those_fields_that_its_message_has_not_got() -> None:
    error = errors.Rejected(
        "the platform answered 400: bad. Name: is too long",
        status=400,
        error_key="secret.invalid",
        fields=(("Name", "is too long"), ("Secret", "is empty")),
    )
    assert description(error) == (
        "the platform answered 400: bad. Name: is too long\n  error key: secret.invalid\n  Secret: is empty"
    )
    keyed = errors.EnvelopeError("the platform answered 202 with a failure: a.key", error_key="a.key")
    assert description(keyed) == "the platform answered 202 with a failure: a.key"
