"""The errors of a platform call.

Each class declares its `reason`, the word for it in metrics and logs. An error's text never contains a credential. The
platform's own message is shortened to one line.
"""

from collections.abc import Collection
from typing import ClassVar

from exporter.mask import without_secrets

MESSAGE_LIMIT = 300
# How many characters of a message are examined: more than the limit, because successive blanks become one.
_MOST_EXAMINED = 4 * MESSAGE_LIMIT


def one_line(text: str) -> str:
    """Convert the platform's message to a line of at most 300 characters, without control characters."""
    readable = "".join(char if char.isprintable() else " " for char in text[:_MOST_EXAMINED])
    line = " ".join(readable.split())
    return line if len(line) <= MESSAGE_LIMIT else line[: MESSAGE_LIMIT - 1] + "…"


class PlatformError(Exception):
    """A call that gave no usable answer.

    Attributes:
        reason: the word for the class in metrics and logs.
        status: the HTTP status, or the failure's status in the body; 0 if there is neither.
        error_key: the platform's key for the error; empty if it sent none.
        retry_after: the seconds that the platform asked to wait; None if it did not ask.
    """

    reason: ClassVar[str] = "error"

    def __init_subclass__(cls, *, reason: str) -> None:
        cls.reason = reason

    def __init__(self, message: str, *, status: int = 0, error_key: str = "", retry_after: float | None = None) -> None:
        super().__init__(one_line(message))
        self.status = status
        self.error_key = one_line(error_key)
        self.retry_after = retry_after

    def redact(self, secrets: Collection[str]) -> None:
        """Mask secrets in the texts, because the body still has short ones and those that are written with escapes."""
        self.args = (without_secrets(str(self), secrets),)
        self.error_key = without_secrets(self.error_key, secrets)


class TransportError(PlatformError, reason="transport"):
    """The request did not reach the platform, or the answer was not received completely."""


class NameFault(TransportError, reason="name"):
    """The host name did not resolve."""


class Refused(TransportError, reason="refused"):
    """Nothing accepts connections at the address."""


class Reset(TransportError, reason="reset"):
    """The connection ended before the answer did."""


class NotHttp(TransportError, reason="not_http"):
    """The answer is not HTTP."""


class TlsFault(TransportError, reason="tls"):
    """The handshake failed, or the certificate is not trusted."""


class ProxyFault(TransportError, reason="proxy"):
    """The proxy refused the request, cannot be reached, or its URL in the environment cannot be used."""


class ConnectTimeout(TransportError, reason="connect_timeout"):
    """The connection was not established in time."""


class Deadline(TransportError, reason="timeout"):
    """The attempt's deadline passed before the answer was complete."""


class StatusError(PlatformError, reason="status"):
    """An HTTP status other than success."""


class Unauthorized(StatusError, reason="unauthorized"):
    """401: the platform does not accept the key."""


class Forbidden(StatusError, reason="forbidden"):
    """403: the key does not permit this operation."""


class NotFound(StatusError, reason="not_found"):
    """404: there is no such resource."""


class Rejected(StatusError, reason="rejected"):
    """400, 409, 422 or another 4xx: the platform rejects the request."""


class RequestTimeout(StatusError, reason="request_timeout"):
    """408: the platform did not receive the whole request in time."""


class RateLimited(StatusError, reason="rate_limited"):
    """429: too many requests; or the operation is paused for too long after an answer, so the call is not sent."""


class ServerError(StatusError, reason="server_error"):
    """5xx: the platform failed; or a status that HTTP does not define."""


class Redirected(StatusError, reason="redirect"):
    """3xx: the platform points to another address; the client does not follow, and does not send the key there."""


class BadAnswer(PlatformError, reason="bad_answer"):
    """A success status with a body that cannot be used."""


class BodyTooLarge(BadAnswer, reason="too_large"):
    """The body is longer than its operation permits, or the headers are longer than the client permits."""


class NotJson(BadAnswer, reason="not_json"):
    """The body is not JSON: HTML, garbage, or cut off."""


class WrongShape(BadAnswer, reason="wrong_shape"):
    """The body is JSON, but does not have the documented fields and types."""


class EnvelopeError(PlatformError, reason="envelope"):
    """A failure inside an envelope with a success status (interface document, Errors)."""


class NotAvailable(EnvelopeError, reason="not_available"):
    """The platform has no data: the plan lacks the feature, it was never set up, or the resource does not exist."""


class StatementError(PlatformError, reason="sql"):
    """An SQL statement failed inside an answer that was otherwise good."""


class CredentialError(PlatformError, reason="credential"):
    """The key or token cannot be read from its configured place."""


_BY_STATUS: dict[int, type[StatusError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    408: RequestTimeout,
    429: RateLimited,
}
_BY_FIRST_DIGIT: dict[int, type[StatusError]] = {3: Redirected, 4: Rejected}
_UNAVAILABLE = 503
_TEMPORARY = (TransportError, RequestTimeout, RateLimited, ServerError)


def may_be_retried(error: PlatformError) -> bool:
    """Return whether another attempt of a read may succeed; a fault of TLS would only occur again."""
    return isinstance(error, _TEMPORARY) and not isinstance(error, TlsFault)


def asks_to_wait(error: PlatformError) -> bool:
    """Return whether an answer asks to wait before the next call: 429, 503, or 403 with `Retry-After`."""
    if isinstance(error, Forbidden):
        return error.retry_after is not None
    return isinstance(error, RateLimited) or error.status == _UNAVAILABLE


def class_for_status(status: int) -> type[StatusError]:
    """Return the class of error for an HTTP status that is not a success."""
    return _BY_STATUS.get(status) or _BY_FIRST_DIGIT.get(status // 100, ServerError)
