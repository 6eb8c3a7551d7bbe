"""The client of one account, through which every call to its platform is made.

`PollCalls.call` makes a call: it waits for the budget, sends the request, and repeats a read that failed.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Generic, TypeVar, cast
from urllib.parse import urlsplit

import httpx

from exporter.blocking import blocking
from exporter.clock import Clocks, PlatformTime
from exporter.platform import errors
from exporter.platform.errors import PlatformError
from exporter.platform.http import responses
from exporter.platform.http.credential import Credential
from exporter.platform.http.rate_limiter import RateLimiter
from exporter.platform.operation import ADDRESS, Answer, Operation, Request, address_of, content_of, headers_of

T = TypeVar("T")

# The highest number of attempts of a read. The wait between two attempts is random; its maximum is `FIRST_WAIT` seconds
# at first, and doubles with each attempt.
ATTEMPTS = 3
FIRST_WAIT = 0.5
# The longest wait of a poll, in seconds, for a retry or for the end of a pause. If that would take longer, the poll
# fails, and its target is polled again later.
SHORT_WAIT = 2.0
# The longest wait of a command for a retry, in seconds.
LONG_WAIT = 30.0
# The shortest time limit of a retry, in seconds. Without this much time left, there is no retry.
SHORTEST_ATTEMPT = 1.0
# A body of more bytes than this is parsed by the executor. Parsing a shorter one takes a few milliseconds.
LONG_BODY = 512 * 1024
_PARTIAL = 206


class Observer:
    """Receives the events of one account's calls; this base class ignores them. No method blocks or raises."""

    def attempted(self, operation: str, code: str, seconds: float, reason: str | None) -> None:
        """Report that an attempt ended.

        Args:
            operation: the operation's name, such as `dns_statistics`.
            code: the HTTP status, or `none` without one.
            seconds: the duration.
            reason: why there is no usable answer, a `reason` of `exporter.platform.errors`; None for a usable answer.
        """

    def retried(self, operation: str) -> None:
        """Report that another attempt of the same call begins."""

    def unexpected(self, operation: str, field: str) -> None:
        """Report that a field of a good answer had an unknown or unreadable value."""

    def throttled(self, seconds: float) -> None:
        """Report how many seconds a call waited for the account's budget."""


@dataclass(eq=False, repr=False, kw_only=True)
class Client:
    """Carries out operations for one account, within its budget.

    Attributes:
        base_url: the address of the management API, or of a database.
        credential: how calls are authenticated.
        connect: creates the transport that sends the requests, as `exporter.platform.http.connector.connector` does.
        rate_limiter: limits the calls of the account.
        timeout: the time limit of an attempt, in seconds. A retry has less if the poll ends before.
        observer: is notified of every attempt.
        clocks: the clocks.
        random: returns a number in [0, 1).
        attempts: the highest number of attempts of a read.
        platform_time: the platform's time, which good answers update.
        parsing: parses long answers, one at a time, because parsing takes much memory. None: they are parsed on the
            event loop, as in a command that does nothing else meanwhile.
        secrets: texts that are masked in answers besides the credential, such as a proxy's password.
    """

    base_url: str
    credential: Credential
    connect: Callable[[], Awaitable[httpx.AsyncBaseTransport]]
    rate_limiter: RateLimiter
    timeout: float
    observer: Observer
    clocks: Clocks
    random: Callable[[], float]
    attempts: int = ATTEMPTS
    platform_time: PlatformTime
    parsing: Executor | None = None
    secrets: tuple[str, ...] = ()
    _transport: httpx.AsyncBaseTransport | None = field(init=False, default=None)
    _connecting: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._transport is not None:
            await self._transport.aclose()

    def until(self, moment: float | None) -> "PollCalls":
        """Return the caller of one poll, whose answers are useless after a time on the monotonic clock; None: never."""
        return PollCalls(self, moment)

    def present(self) -> datetime:
        """Return the platform's time now, or this machine's while that is unknown."""
        return self.platform_time.now() or self.clocks.utc()

    async def connected(self) -> httpx.AsyncBaseTransport:
        """Return the transport; the first call creates it, which is not part of the time limit of an attempt."""
        if self._transport is None:
            async with self._connecting:
                if self._transport is None:
                    self._transport = await self.connect()
        return self._transport

    async def attempt(self, call: "ReadyCall[T]", deadline: float) -> Answer[T]:
        """Send a call once, and read its answer; notify the observer and the rate limiter of the result.

        Args:
            call: the call.
            deadline: the time limit of the attempt, in seconds. It is also the longest duration that is reported, since
                the clock includes the time while the machine was suspended.

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
            # It is not a failure that the platform has no data.
            reason = None if isinstance(error, errors.NotAvailable) else error.reason
            code = str(error.status) if code == "none" and error.status else code
            self.observer.attempted(operation.name, code, seconds, reason)
            if errors.asks_to_wait(error):
                self.rate_limiter.limited(operation.name, error.retry_after)
            elif not isinstance(error, errors.TransportError | errors.ServerError):
                # Any other answer, even a refusal, shows that the operation is not limited.
                self.rate_limiter.answered(operation.name)
            raise
        self.observer.attempted(operation.name, code, seconds, None)
        self.rate_limiter.answered(operation.name)
        return answer

    async def _send(self, call: "ReadyCall[T]", deadline: float) -> tuple[httpx.Response, bytes]:
        """Send a request, and return the response and its body, within a number of seconds."""
        response: httpx.Response | None = None
        content = b""
        try:
            async with asyncio.timeout(deadline):
                response = await call.transport.handle_async_request(call.request)
                try:
                    content = await responses.read_body(response, call.operation.most_bytes, call.secrets)
                finally:
                    await cast("httpx.AsyncByteStream", response.stream).aclose()
        except (TimeoutError, httpx.HTTPError) as error:
            # The body of an error status is not needed.
            if response is not None and not response.is_success:
                return response, content
            host = urlsplit(self.base_url).netloc
            if isinstance(error, TimeoutError):
                late = "no answer" if response is None else "the body did not end"
                fault: PlatformError = errors.Deadline(f"{late} within {deadline:.3g} s ({host})")
            else:
                fault = fault_of(error, host)
            fault.status = response.status_code if response is not None else 0
            raise fault from None
        return response, content

    async def _understand(
        self, operation: Operation[T], response: httpx.Response, raw: bytes, seconds: float
    ) -> Answer[T]:
        """Read a response: return the payload in its body, or raise the failure that its status or body reports."""
        status = response.status_code
        date = responses.http_date(response.headers.get("date"))
        wait = responses.retry_after_seconds(response.headers.get("retry-after"), date or self.clocks.utc())
        if not response.is_success:
            failure = responses.status_error(status, raw, wait)
            if status not in operation.absent or isinstance(failure, errors.NotAvailable):
                raise failure
        if status == _PARTIAL:
            raise errors.BadAnswer(
                "the platform answered 206 with a part of the body, although all of it was requested", status=206
            )
        moment = self.platform_time.now() if date is None else self.platform_time.read(date)
        if status in operation.absent:
            return Answer(cast("T", None), moment, raw, seconds)
        try:
            value = await self._payload(operation, raw, status)
        except PlatformError as error:
            # The body may report a 429 or 503 under a success status.
            error.retry_after = wait
            raise
        return Answer(value, moment, raw, seconds)

    async def _payload(self, operation: Operation[T], raw: bytes, status: int) -> T:
        """Return the payload of a body, and notify the observer of unexpected values in it."""
        unexpected = set[str]()
        if self.parsing is None or len(raw) <= LONG_BODY:
            value = responses.payload(operation, raw, status, unexpected)
        else:
            value = await blocking(self.parsing, responses.payload, operation, raw, status, unexpected)
        for name in unexpected:
            self.observer.unexpected(operation.name, name)
        return value


@dataclass(frozen=True, slots=True)
class ReadyCall(Generic[T]):
    """A call that is ready to be sent; all of its attempts send the same request.

    Attributes:
        operation: the operation.
        request: the HTTP request.
        transport: sends the request.
        secrets: the secrets in the request, which are masked in the answer.
    """

    operation: Operation[T]
    request: httpx.Request
    transport: httpx.AsyncBaseTransport
    secrets: tuple[str, ...]


@dataclass(slots=True, eq=False)
class PollCalls:
    """The calls of one poll, or of one command.

    Attributes:
        client: the account's client.
        until: the time on the monotonic clock after which answers are useless; None for a command without such a time.
        number: the number of calls so far, without retries.
    """

    client: Client
    until: float | None
    number: int = 0

    async def call(self, request: Request[T]) -> Answer[T]:
        """Send a request, and return its answer; repeat a read that failed while its answer would still be useful.

        Raises:
            PlatformError: there is no usable answer.
        """
        self.number += 1
        client, operation, attempt = self.client, request.operation, 1
        secret, name, value = await client.credential.header()
        ready = await self._prepared(request, secret, _headers(operation.method, name, value))
        # A poll does not wait for the end of a long pause: its target is polled again later.
        longest_pause = math.inf if self.until is None else SHORT_WAIT
        while True:
            client.observer.throttled(await client.rate_limiter.acquire(operation.name, longest_pause))
            try:
                answer = await client.attempt(ready, self._deadline(attempt))
            except PlatformError as error:
                if isinstance(error, errors.Unauthorized):
                    client.credential.refuse(secret)
                error.redact(ready.secrets)
                wait = self._wait(operation, error, attempt)
                if wait is None:
                    raise
            else:
                client.credential.accept()
                return answer
            finally:
                client.rate_limiter.release()
            client.observer.retried(operation.name)
            attempt += 1
            await client.clocks.sleep(wait)

    async def _prepared(self, request: Request[T], secret: str, headers: httpx.Headers) -> ReadyCall[T]:
        """Return the call of a request with these headers, which contain the key or token `secret`."""
        operation, body = request.operation, request.body or {}
        sent = httpx.Request(
            operation.method,
            _PLACEHOLDER,
            headers=headers,
            # As a stream: for `content`, httpx computes headers, which takes a third of the time.
            stream=httpx.ByteStream(content_of(request) or b""),
            extensions={ADDRESS: address_of(self.client.base_url, request)},
        )
        given = (str(body[one.name]) for one in operation.parameters if one.secret and one.name in body)
        return ReadyCall(operation, sent, await self.client.connected(), (secret, *self.client.secrets, *given))

    def _deadline(self, attempt: int) -> float:
        """Return the time limit of an attempt in seconds: `timeout`; for a retry, at most the time that is left."""
        if attempt == 1 or self.until is None:
            return self.client.timeout
        return min(self.client.timeout, max(SHORTEST_ATTEMPT, self.until - self.client.clocks.monotonic()))

    def _wait(self, operation: Operation[T], error: PlatformError, attempt: int) -> float | None:
        """Return the seconds until the next attempt, at least as many as the platform asked for; None: no retry."""
        client = self.client
        if not error.retryable or operation.writes or attempt >= client.attempts:
            return None
        jitter = client.random() * FIRST_WAIT * 2 ** (attempt - 1)
        wait = max(jitter + (error.retry_after or 0.0), client.rate_limiter.paused_for(operation.name))
        if self.until is None:
            return wait if wait <= LONG_WAIT else None
        is_in_time = wait + SHORTEST_ATTEMPT <= self.until - client.clocks.monotonic()
        return wait if wait <= SHORT_WAIT and is_in_time else None


# The URL of every `httpx.Request`. The transport takes the address from the request's extension instead.
_PLACEHOLDER = httpx.URL("http://platform")


@lru_cache
def _headers(method: str, name: str, value: str) -> httpx.Headers:
    """Return the headers of a request with the credential's header `name: value`; cached, as this takes long."""
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
    (httpx.ConnectError, errors.Refused, "nothing accepts connections at the address"),
    (httpx.NetworkError, errors.Reset, "the connection ended before the answer did"),
    (HeadTooLarge, errors.BodyTooLarge, "the answer has more than 128 headers, or a header of more than 8,190 bytes"),
    (httpx.DecodingError, errors.NotJson, "the body cannot be decoded"),
    (httpx.RemoteProtocolError, errors.NotHttp, "the answer is not HTTP"),
    (httpx.HTTPError, errors.TransportError, "the call failed"),
)


def fault_of(error: httpx.HTTPError, host: str) -> PlatformError:
    """Return the error for an exception of httpx; its text contains the host and the operating system's message."""
    kind, words = next((kind, words) for one, kind, words in _ERRORS if isinstance(error, one))
    return kind(f"{words} ({host}: {error})" if str(error) else f"{words} ({host})")
