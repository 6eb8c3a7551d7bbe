"""The errors of a platform call.

A class declares its `reason`, the word for the class in metrics and logs. `str()` of an error is one line.
"""

from collections.abc import Collection
from typing import ClassVar

from exporter.mask import without_secrets

MESSAGE_LIMIT = 300
# How many characters of a message are examined: more than the limit, because successive blanks become one.
_MOST_EXAMINED = 4 * MESSAGE_LIMIT


def one_line(text: str) -> str:
    """Return the beginning of a text as one line of at most 300 printable characters."""
    readable = "".join(char if char.isprintable() else " " for char in text[:_MOST_EXAMINED])
    line = " ".join(readable.split())
    return line if len(line) <= MESSAGE_LIMIT else line[: MESSAGE_LIMIT - 1] + "…"


class PlatformError(Exception):
    """A call that gave no usable answer.

    Attributes:
        reason: the word for the class in metrics and logs.
        status: the HTTP status, or the status in the body; 0 in an error without a status.
        error_key: the platform's key for the error, or the code of an SQL error; empty without one.
        retry_after: the seconds to wait before another call; None if they are not known.
    """

    reason: ClassVar[str] = "error"

    def __init_subclass__(cls, *, reason: str) -> None:
        cls.reason = reason

    def __init__(self, message: str, *, status: int = 0, error_key: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error_key = error_key
        self.retry_after = retry_after

    def __str__(self) -> str:
        return one_line(self.args[0])

    def redact(self, secrets: Collection[str]) -> None:
        """Mask secrets in the message and `error_key`, and shorten both afterwards: a cut secret would not be found."""
        self.args = (one_line(without_secrets(self.args[0], secrets)),)
        self.error_key = one_line(without_secrets(self.error_key, secrets))


class TransportError(PlatformError, reason="transport"):
    """The platform could not be reached, or sent no complete HTTP answer."""


class NameFault(TransportError, reason="name"):
    """The host name did not resolve, or is not valid."""


class Refused(TransportError, reason="refused"):
    """No connection could be made, usually because nothing accepts connections at the address."""


class Reset(TransportError, reason="reset"):
    """The connection ended before the answer did."""


class NotHttp(TransportError, reason="not_http"):
    """The answer is not HTTP."""


class TlsFault(TransportError, reason="tls"):
    """TLS failed, for example because the certificate is not trusted."""


class ProxyFault(TransportError, reason="proxy"):
    """There was no connection through the proxy, or the proxy's URL in the environment cannot be used."""


class ConnectTimeout(TransportError, reason="connect_timeout"):
    """The connection was not established in time."""


class Deadline(TransportError, reason="timeout"):
    """The attempt's deadline passed before the answer was complete."""


class StatusError(PlatformError, reason="status"):
    """The HTTP status, or the status in the body of an answer, is that of a failure."""


class Unauthorized(StatusError, reason="unauthorized"):
    """401: the platform does not accept the key or token."""


class Forbidden(StatusError, reason="forbidden"):
    """403: the platform does not permit the call."""


class NotFound(StatusError, reason="not_found"):
    """404: the resource does not exist."""


class Rejected(StatusError, reason="rejected"):
    """400, or another 4xx for which there is no other class: the platform rejects the request."""


class RequestTimeout(StatusError, reason="request_timeout"):
    """408: the platform did not receive the whole request in time."""


class RateLimited(StatusError, reason="rate_limited"):
    """429: too many requests. Also raised, without a request, if a pause is longer than the call may wait."""


class ServerError(StatusError, reason="server_error"):
    """5xx: the platform failed. Also the class for a status below 200 or above 599."""


class Redirected(StatusError, reason="redirect"):
    """3xx: a redirect. The client does not follow redirects, because the key must not be sent to another address."""


class BadAnswer(PlatformError, reason="bad_answer"):
    """An answer whose body or headers cannot be used."""


class TooLarge(BadAnswer, reason="too_large"):
    """The body or the head of the answer exceeds a limit."""


class NotJson(BadAnswer, reason="not_json"):
    """The body cannot be decompressed, or is not JSON. For example, it is empty, HTML, or cut off."""


class WrongShape(BadAnswer, reason="wrong_shape"):
    """The body is JSON, but its shape or its values are not as expected."""


class EnvelopeError(PlatformError, reason="envelope"):
    """A failure that the body reports, usually under a success status (interface document, Errors)."""


class NotAvailable(EnvelopeError, reason="not_available"):
    """No data: the plan lacks the feature, the feature was never set up, or the resource does not exist."""


class StatementError(PlatformError, reason="sql"):
    """An SQL statement failed, or was refused before its execution."""


class CredentialError(PlatformError, reason="credential"):
    """The key or token cannot be read, is empty, or cannot be contained in a header."""


_BY_STATUS: dict[int, type[PlatformError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    407: ProxyFault,
    408: RequestTimeout,
    429: RateLimited,
}
_BY_FIRST_DIGIT: dict[int, type[StatusError]] = {3: Redirected, 4: Rejected}
_UNAVAILABLE, _PROXY_REFUSES = 503, 407
_TEMPORARY = (TransportError, RequestTimeout, RateLimited, ServerError)


def may_be_retried(error: PlatformError) -> bool:
    """Return whether another attempt of a read may succeed; a fault of TLS and a 407 are expected to occur again."""
    return isinstance(error, _TEMPORARY) and not isinstance(error, TlsFault) and error.status != _PROXY_REFUSES


def asks_to_wait(error: PlatformError) -> bool:
    """Return whether to wait before the next call: after `RateLimited`, 503, or `Forbidden` with `Retry-After`."""
    if isinstance(error, Forbidden):
        return error.retry_after is not None
    return isinstance(error, RateLimited) or error.status == _UNAVAILABLE


def class_for_status(status: int) -> type[PlatformError]:
    """Return the class of error for a status that is not a success."""
    return _BY_STATUS.get(status) or _BY_FIRST_DIGIT.get(status // 100, ServerError)
