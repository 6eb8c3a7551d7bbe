"""The client of one account, through which every call to its platform is made.

`PollCalls.call` is a call from its request to its answer: the budget, the attempts, and the waits between them.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast
from urllib.parse import urlsplit

import httpx

from exporter.blocking import blocking
from exporter.clock import SYSTEM, Clocks
from exporter.platform import errors
from exporter.platform.errors import PlatformError
from exporter.platform.http import responses
from exporter.platform.http.credential import Credential
from exporter.platform.http.rate_limiter import RateLimiter
from exporter.platform.operation import ADDRESS, Answer, Operation, Request, address_of, content_of, headers_of

T = TypeVar("T")

# The attempts of a read, the first included. The wait between them doubles from `FIRST_WAIT` seconds, with full jitter.
ATTEMPTS = 3
FIRST_WAIT = 0.5
# A poll waits this long, in seconds, for a retry or for the end of a pause; otherwise its target is polled again later,
# and others meanwhile. A command waits longer.
SHORT_WAIT = 2.0
LONG_WAIT = 30.0
# A retry is made only if at least this time, in seconds, is left for it; otherwise it would probably be interrupted.
SHORTEST_ATTEMPT = 1.0
# A longer body, in bytes, is parsed by the executor; a shorter one takes a few milliseconds.
LONG_BODY = 512 * 1024
_PARTIAL = 206


class Observer:
    """Receives the events of one account's calls, and ignores them; every method returns at once and never fails."""

    def attempted(self, operation: str, code: str, seconds: float, reason: str | None) -> None:
        """Report that an attempt ended.

        Args:
            operation: the operation's name, such as `dns_statistics`.
            code: the HTTP status, or `none` without one.
            seconds: the duration.
            reason: why there is no usable answer, as a `reason` of `exporter.platform.errors`; None for a usable
                answer.
        """

    def retried(self, operation: str) -> None:
        """Report that another attempt of the same call begins."""

    def unexpected(self, operation: str, field: str) -> None:
        """Report an unknown value of this field in a good answer."""

    def throttled(self, seconds: float) -> None:
        """Report how many seconds a call waited for the account's budget."""


@dataclass(eq=False, repr=False, kw_only=True)
class Client:
    """Carries out operations for one account, within its budget.

    Attributes:
        base_url: the management API, or a database's endpoint.
        credential: how calls are authenticated.
        connect: makes the transport that sends the requests, such as `exporter.platform.http.connector.connector`.
        rate_limiter: limits the calls of the account.
        timeout: the deadline of a whole attempt, in seconds; shorter for a retry whose answer would be useless by then.
        observer: is notified of every attempt.
        clocks: the clocks.
        random: returns a number in [0, 1).
        attempts: the number of attempts of a read.
        platform_time: the `Date` of a good answer → the accepted time, as `PlatformTime.read` returns it.
        parsing: parses long answers, one at a time, because of the memory that they take; None parses them on the event
            loop, for a command that does nothing else.
        secrets: what is masked in answers beside the credential, such as a proxy's password.
    """

    base_url: str
    credential: Credential
    connect: Callable[[], Awaitable[httpx.AsyncBaseTransport]]
    rate_limiter: RateLimiter
    timeout: float
    observer: Observer
    clocks: Clocks = SYSTEM
    random: Callable[[], float]
    attempts: int = ATTEMPTS
    platform_time: Callable[[datetime | None], datetime | None] = lambda date: date
    parsing: Executor | None = None
    secrets: tuple[str, ...] = ()
    _transport: httpx.AsyncBaseTransport | None = field(init=False, default=None)
    _connecting: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._transport is not None:
            await self._transport.aclose()

    def until(self, moment: float | None) -> "PollCalls":
        """Return the caller of one poll, whose answers are useless after `moment`, on the monotonic clock."""
        return PollCalls(self, moment)

    def present(self) -> datetime:
        """Return the platform's time now, or this machine's while that is unknown."""
        return self.platform_time(None) or self.clocks.utc()

    async def connected(self) -> httpx.AsyncBaseTransport:
        """Return the transport, which is made before the first attempt: its import is not for that time limit."""
        if self._transport is None:
            async with self._connecting:
                if self._transport is None:
                    self._transport = await self.connect()
        return self._transport

    async def attempt(self, call: "ReadyCall[T]", deadline: float) -> Answer[T]:
        """Send a call once, and read its answer; report the attempt, and what its answer means for the budget.

        Args:
            call: the call.
            deadline: the time limit of the whole attempt, in seconds. It is also the longest duration that is reported,
                because the machine may have been suspended.

        Raises:
            PlatformError: there is no usable answer.
        """
        operation, began, code = call.operation, self.clocks.monotonic(), "none"
        try:
            response, content = await self._send(call, deadline)
            code = str(response.status_code)
            seconds = min(deadline, self.clocks.monotonic() - began)
            answer = await self._understand(operation, response, content, seconds)
        except PlatformError as error:
            seconds = min(deadline, self.clocks.monotonic() - began)
            # The answer that a zone does not have a resource is not a failure.
            reason = None if isinstance(error, errors.NotAvailable) else error.reason
            code = str(error.status) if code == "none" and error.status else code
            self.observer.attempted(operation.name, code, seconds, reason)
            if errors.asks_to_wait(error):
                self.rate_limiter.limited(operation.name, error.retry_after)
            elif not isinstance(error, errors.TransportError | errors.ServerError):
                # Any other answer, also a refusal, shows that the operation is not limited.
                self.rate_limiter.answered(operation.name)
            raise
        self.observer.attempted(operation.name, code, seconds, None)
        self.rate_limiter.answered(operation.name)
        return answer

    async def _send(self, call: "ReadyCall[T]", deadline: float) -> tuple[httpx.Response, bytes]:
        """Send a request and read its answer, within a number of seconds."""
        came: httpx.Response | None = None
        content = b""
        try:
            async with asyncio.timeout(deadline):
                came = await call.transport.handle_async_request(call.request)
                try:
                    content = await responses.read_body(came, call.operation.most_bytes, call.secrets)
                finally:
                    await cast("httpx.AsyncByteStream", came.stream).aclose()
        except (TimeoutError, httpx.HTTPError) as error:
            # With an error status, the body is not needed.
            if came is not None and not came.is_success:
                return came, content
            host = urlsplit(self.base_url).netloc
            if isinstance(error, TimeoutError):
                late = "no answer" if came is None else "the body did not end"
                fault: PlatformError = errors.Deadline(f"{late} within {deadline:.3g} s ({host})")
            else:
                fault = fault_of(error, host)
            fault.status = came.status_code if came is not None else 0
            raise fault from None
        return came, content

    async def _understand(
        self, operation: Operation[T], response: httpx.Response, raw: bytes, seconds: float
    ) -> Answer[T]:
        status = response.status_code
        date = responses.http_date(response.headers.get("date"))
        if not response.is_success:
            failure = responses.status_error(status, raw, self._asked_to_wait(response, date))
            if status not in operation.absent or isinstance(failure, errors.NotAvailable):
                raise failure
        if status == _PARTIAL:
            raise errors.BadAnswer(
                "the platform answered 206 with a part of a body, which was not asked for", status=206
            )
        moment = self.platform_time(date)
        value: Any = None
        if status not in operation.absent:
            unexpected = set[str]()
            try:
                if self.parsing is None or len(raw) <= LONG_BODY:
                    value = responses.payload(operation, raw, status, unexpected)
                else:
                    value = await blocking(self.parsing, responses.payload, operation, raw, status, unexpected)
            except PlatformError as error:
                # The body may report a 429 or 503 that the status does not have.
                error.retry_after = self._asked_to_wait(response, date)
                raise
            for name in unexpected:
                self.observer.unexpected(operation.name, name)
        return Answer(value, moment, raw, seconds)

    def _asked_to_wait(self, response: httpx.Response, date: datetime | None) -> float | None:
        return responses.retry_after_seconds(response.headers.get("retry-after"), date or self.clocks.utc())


@dataclass(frozen=True, slots=True)
class ReadyCall(Generic[T]):
    """A call that is ready to be sent, each time in the same way.

    Attributes:
        transport: sends the request.
        secrets: the secrets of the call, which are masked in its answer.
    """

    operation: Operation[T]
    request: httpx.Request
    transport: httpx.AsyncBaseTransport
    secrets: tuple[str, ...]


@dataclass(slots=True, eq=False)
class PollCalls:
    """The calls of one poll.

    Attributes:
        client: the account's client.
        until: the time on the monotonic clock after which answers are useless; None if there is none.
        number: the number of calls, without retries.
    """

    client: Client
    until: float | None
    number: int = 0

    async def call(self, request: Request[T]) -> Answer[T]:
        """Send a request; repeat a read that failed while its answer would still be useful.

        Raises:
            PlatformError: there is no usable answer.
        """
        self.number += 1
        client, operation, attempt = self.client, request.operation, 1
        address, transport = address_of(client.base_url, request), await client.connected()
        secret, *header = await client.credential.header()
        sent = httpx.Request(
            operation.method,
            _BESIDE,
            headers=_headers(operation.method, *header),
            # As a stream: for `content`, httpx computes headers, which takes a third of the time.
            stream=httpx.ByteStream(content_of(request) or b""),
            extensions={ADDRESS: address},
        )
        body = request.body or {}
        given = (str(body[one.name]) for one in operation.parameters if one.secret and one.name in body)
        secrets = (secret, *client.secrets, *given)
        ready = ReadyCall(operation, sent, transport, secrets)
        while True:
            # A poll that cannot be begun now is begun after the pause; a command waits for its end.
            longest = math.inf if self.until is None else SHORT_WAIT
            client.observer.throttled(await client.rate_limiter.acquire(operation.name, longest))
            try:
                answer = await client.attempt(ready, self._deadline(attempt))
            except PlatformError as error:
                if isinstance(error, errors.Unauthorized):
                    client.credential.refused = secret
                error.redact(secrets)
                wait = self._wait(operation, error, attempt)
                if wait is None:
                    raise
            else:
                client.credential.refused = None
                return answer
            finally:
                client.rate_limiter.release()
            client.observer.retried(operation.name)
            attempt += 1
            await client.clocks.sleep(wait)

    def _deadline(self, attempt: int) -> float:
        """Return the seconds that an attempt may take: the first all of them, a retry until the next poll is due."""
        if attempt == 1 or self.until is None:
            return self.client.timeout
        return min(self.client.timeout, max(SHORTEST_ATTEMPT, self.until - self.client.clocks.monotonic()))

    def _wait(self, operation: Operation[T], error: PlatformError, attempt: int) -> float | None:
        """Return the seconds until the next attempt, at least as many as the platform asked for; None for no other."""
        client = self.client
        if not error.retryable or operation.writes or attempt >= client.attempts:
            return None
        jitter = client.random() * FIRST_WAIT * 2 ** (attempt - 1)
        wait = max(jitter + (error.retry_after or 0.0), client.rate_limiter.pause(operation.name))
        if self.until is None:
            return wait if wait <= LONG_WAIT else None
        is_in_time = wait + SHORTEST_ATTEMPT <= self.until - client.clocks.monotonic()
        return wait if wait <= SHORT_WAIT and is_in_time else None


# The transport takes the address from the request's extension: `httpx.URL` takes long to make, and changes the address.
_BESIDE = httpx.URL("http://platform")


@lru_cache
def _headers(method: str, name: str, value: str) -> httpx.Headers:
    """Return the headers of a request, with its credential; making them takes longer than the rest of the request."""
    return httpx.Headers(headers_of(method) | {name: value})


class TlsFailed(httpx.ConnectError):
    """The handshake failed, or the certificate is not trusted."""


class Unresolved(httpx.ConnectError):
    """The host name has no address."""


class HeadTooLarge(httpx.RemoteProtocolError):
    """A header of an answer is too long, or it has too many."""


# The first entry that matches decides.
_ERRORS: tuple[tuple[type[httpx.HTTPError], type[PlatformError], str], ...] = (
    (httpx.ProxyError, errors.ProxyFault, "the proxy refused the call"),
    (TlsFailed, errors.TlsFault, "the TLS handshake failed"),
    (Unresolved, errors.NameFault, "the host name does not resolve"),
    (httpx.ConnectTimeout, errors.ConnectTimeout, "no connection within the time limit"),
    (httpx.ConnectError, errors.Refused, "nothing accepts connections there"),
    (httpx.NetworkError, errors.Reset, "the connection ended before the answer did"),
    (HeadTooLarge, errors.BodyTooLarge, "the answer has a header over 8190 bytes, or over 128 headers"),
    (httpx.DecodingError, errors.NotJson, "the body cannot be decoded"),
    (httpx.RemoteProtocolError, errors.NotHttp, "the answer is not HTTP"),
    (httpx.HTTPError, errors.TransportError, "the call failed"),
)


def fault_of(error: httpx.HTTPError, host: str) -> PlatformError:
    """Return the error for an exception of httpx; its text has the host and the system's message, and no header."""
    kind, words = next((kind, words) for one, kind, words in _ERRORS if isinstance(error, one))
    return kind(f"{words} ({host}: {error})" if str(error) else f"{words} ({host})")
