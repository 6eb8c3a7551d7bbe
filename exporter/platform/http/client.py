"""The client of one account or database.

`PollCalls.call` waits for the budget, sends a request, and repeats a read after a temporary failure.
"""

import asyncio
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
from exporter.platform.http.response_headers import http_date, retry_after_seconds
from exporter.platform.operation import ADDRESS, Answer, Operation, Request, address_of, content_of, headers_of

T = TypeVar("T")

# The highest number of attempts of a read.
ATTEMPTS = 3
# The highest random part of the wait before the second attempt, in seconds. Before the third attempt, it is doubled.
FIRST_JITTER = 0.5
# The longest wait, in seconds, for a retry or for the end of a pause. If the wait would be longer, the call fails.
LONGEST_WAIT = 2.0
# The fewest seconds that must be left for a retry; with fewer, the call fails.
SHORTEST_ATTEMPT = 1.0
# A body of more bytes than this is parsed by the executor `Client.parsing`, if there is one.
LONG_BODY = 512 * 1024


class Observer:
    """Receives the events of a client's calls. The methods do nothing here; an override must not block or raise."""

    def attempted(self, operation: str, code: str, seconds: float, reason: str | None) -> None:
        """Report that an attempt has ended, after this many seconds.

        `code` is the HTTP status, or `none` without one. `reason` is the `reason` of the raised `PlatformError`. It is
        None without an error, and for `NotAvailable`, which means that the platform has no data.
        """

    def unsent(self, operation: str, reason: str) -> None:
        """Report a call that was not sent because its key or token cannot be used, with the `reason` of the error."""

    def retried(self, operation: str) -> None:
        """Report that an attempt failed, and that the call is going to be attempted again."""

    def unexpected(self, operation: str, field: str) -> None:
        """Report a field of a good answer that contained something unknown or unreadable."""

    def throttled(self, seconds: float) -> None:
        """Report how many seconds an attempt waited for the budget, or for the end of a pause."""


@dataclass(eq=False, repr=False, kw_only=True)
class Client:
    """Carries out operations for one account or database.

    Attributes:
        base_url: the address of the management API, or of a database.
        connect: creates the transport; `connector` of `proxy.py` returns a function for this.
        timeout: the time limit of an attempt, in seconds. A retry may have less.
        random: returns a number in [0, 1).
        parsing: parses long answers on one thread, because parsing takes much memory. None: the event loop parses them.
        secrets: texts to mask in answers and errors besides the key or token, such as a proxy's password.
    """

    base_url: str
    credential: Credential
    connect: Callable[[], Awaitable[httpx.AsyncBaseTransport]]
    rate_limiter: RateLimiter
    timeout: float
    observer: Observer
    clocks: Clocks
    random: Callable[[], float]
    platform_time: PlatformTime
    parsing: Executor | None = None
    secrets: tuple[str, ...] = ()
    _transport: httpx.AsyncBaseTransport | None = field(init=False, default=None)
    _transport_lock: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _is_closed: bool = field(init=False, default=False)

    async def aclose(self) -> None:
        """Close the connections; later calls fail."""
        self._is_closed = True
        if self._transport is not None:
            await self._transport.aclose()

    def calls_until(self, moment: float) -> "PollCalls":
        """Return the `PollCalls` of a poll or another task, whose answers are useless after `moment` (monotonic)."""
        return PollCalls(self, moment)

    def utc_now(self) -> datetime:
        """Return the platform's time now; this machine's if the platform's is not known."""
        return self.platform_time.now() or self.clocks.utc()

    async def open_transport(self) -> httpx.AsyncBaseTransport:
        """Return the transport, which is created if there is none yet."""
        async with self._transport_lock:
            if self._transport is None:
                self._transport = await self.connect()
                if self._is_closed:
                    # `aclose` had no transport to close.
                    await self._transport.aclose()
        return self._transport

    async def attempt(self, call: "ReadyCall[T]", time_limit: float) -> Answer[T]:
        """Send a call once, and read its answer; report the result to the observer and the rate limiter.

        A duration is reported as at most `time_limit` seconds: the clock goes on while the machine is suspended.

        Raises:
            PlatformError: there is no usable answer.
            RuntimeError: no thread can be started now. The observer does not receive this error.
        """
        name = call.operation.name
        status = 0
        began = self.clocks.monotonic()
        try:
            response, body = await self._send(call, time_limit)
            status = response.status_code
            seconds = min(time_limit, self.clocks.monotonic() - began)
            answer = await self._read(call, response, body, seconds)
        except PlatformError as error:
            seconds = min(time_limit, self.clocks.monotonic() - began)
            # If the body did not arrive, only the error has the status.
            self._report_failure(name, status or error.status, seconds, error)
            raise
        self.observer.attempted(name, str(status), seconds, reason=None)
        self.rate_limiter.recover(name)
        return answer

    def _report_failure(self, operation: str, status: int, seconds: float, error: PlatformError) -> None:
        # `NotAvailable` means that the platform has no data, and is not counted as a failure.
        reason = None if isinstance(error, errors.NotAvailable) else error.reason
        self.observer.attempted(operation, str(status) if status else "none", seconds, reason)
        if errors.asks_to_wait(error):
            self.rate_limiter.pause(operation, error.retry_after)
        elif not isinstance(error, errors.TransportError | errors.ServerError):
            # An answer that does not ask to wait, even a refusal, shows that the operation is not limited.
            self.rate_limiter.recover(operation)

    async def _send(self, call: "ReadyCall[T]", time_limit: float) -> tuple[httpx.Response, bytes]:
        response: httpx.Response | None = None
        try:
            async with asyncio.timeout(time_limit):
                response = await call.transport.handle_async_request(call.request)
                return response, await responses.read_body(response, call.operation.most_bytes, call.secrets)
        except (TimeoutError, httpx.HTTPError) as error:
            if response is not None and not response.is_success:
                # The answer counts as complete, because the status says enough without the body.
                return response, b""
            host = urlsplit(self.base_url).netloc
            if isinstance(error, httpx.HTTPError):
                fault = fault_of(error, host)
            else:
                problem = "no answer" if response is None else "the body did not end"
                fault = errors.Deadline(f"{problem} within {time_limit:.3g} s ({host})")
            fault.status = 0 if response is None else response.status_code
            raise fault from None

    async def _read(self, call: "ReadyCall[T]", response: httpx.Response, body: bytes, seconds: float) -> Answer[T]:
        operation, status = call.operation, response.status_code
        date = http_date(response.headers.get("date", ""))
        retry_after = retry_after_seconds(response.headers.get("retry-after"), date or self.clocks.utc())
        failure = None if response.is_success else responses.status_error(status, body, retry_after)
        # An error key that means `NotAvailable` says more than the status, and has priority.
        is_absent = status in operation.absent and not isinstance(failure, errors.NotAvailable)
        if failure is not None and not is_absent:
            raise failure
        moment = self.platform_time.now() if date is None else self.platform_time.update(date)
        if is_absent:
            return Answer(cast("T", None), moment, body, seconds, call.secrets)
        try:
            value = await self._payload(operation, body, status)
        except PlatformError as error:
            # The body may report a 429 or 503 under a success status; the header `Retry-After` still counts.
            error.retry_after = retry_after
            raise
        return Answer(value, moment, body, seconds, call.secrets)

    async def _payload(self, operation: Operation[T], raw: bytes, status: int) -> T:
        unexpected = set[str]()
        if self.parsing is None or len(raw) <= LONG_BODY:
            value = responses.payload(operation, raw, status, unexpected)
        else:
            value = await blocking(self.parsing, responses.payload, operation, raw, status, unexpected)
        for name in unexpected:
            self.observer.unexpected(operation.name, name)
        return value


@dataclass(frozen=True, slots=True, repr=False)
class ReadyCall(Generic[T]):
    """A call that is ready to be sent; all of its attempts send the same request.

    Attributes:
        key: the key or token in the request.
        secrets: the texts to mask in the answer and in errors, including `key`.
    """

    operation: Operation[T]
    request: httpx.Request
    transport: httpx.AsyncBaseTransport
    key: str
    secrets: tuple[str, ...]


@dataclass(slots=True, eq=False)
class PollCalls:
    """Makes the calls of one poll, or of another task.

    Attributes:
        until: the time on the monotonic clock after which answers are useless. Limits retries, not first attempts.
        call_count: how often `call` was called so far; retries are not counted.
    """

    client: Client
    until: float
    call_count: int = 0

    async def call(self, request: Request[T]) -> Answer[T]:
        """Send a request; after a temporary failure, a read may be repeated.

        Raises:
            PlatformError: there is no usable answer.
            RuntimeError: no thread can be started now.
        """
        self.call_count += 1
        ready = await self._prepare(request)
        attempt = 1
        while True:
            try:
                return await self._attempt(ready, attempt)
            except PlatformError as error:
                wait = self._wait_before_retry(request.operation, error, attempt)
                if wait is None:
                    raise
            self.client.observer.retried(request.operation.name)
            await self.client.clocks.sleep(wait)
            attempt += 1

    async def _prepare(self, request: Request[T]) -> ReadyCall[T]:
        client, operation = self.client, request.operation
        try:
            key = await client.credential.current_key()
        except errors.CredentialError as error:
            client.observer.unsent(operation.name, error.reason)
            raise
        header, value = client.credential.header_with(key)
        http_request = httpx.Request(
            operation.method,
            _PLACEHOLDER,
            headers=_headers(operation.method, header, value),
            # As a stream, because httpx would compute headers for `content`, which takes long.
            stream=httpx.ByteStream(content_of(request) or b""),
            extensions={ADDRESS: address_of(client.base_url, request)},
        )
        body = request.body or {}
        sent_secrets = [str(body[one.name]) for one in operation.parameters if one.secret and one.name in body]
        secrets = (key, *client.secrets, *sent_secrets)
        return ReadyCall(operation, http_request, await client.open_transport(), key, secrets)

    async def _attempt(self, call: ReadyCall[T], attempt: int) -> Answer[T]:
        client = self.client
        began = client.clocks.monotonic()
        await client.rate_limiter.acquire(call.operation.name, LONGEST_WAIT)
        client.observer.throttled(client.clocks.monotonic() - began)
        try:
            answer = await client.attempt(call, self._time_limit(attempt))
        except PlatformError as error:
            if isinstance(error, errors.Unauthorized):
                client.credential.refuse(call.key)
            error.redact(call.secrets)
            raise
        finally:
            client.rate_limiter.release()
        client.credential.accept(call.key)
        return answer

    def _time_limit(self, attempt: int) -> float:
        if attempt == 1:
            return self.client.timeout
        # While the retry waited for the budget, the time left may have become shorter than `SHORTEST_ATTEMPT`.
        return min(self.client.timeout, max(SHORTEST_ATTEMPT, self.until - self.client.clocks.monotonic()))

    def _wait_before_retry(self, operation: Operation[T], error: PlatformError, attempt: int) -> float | None:
        """Return the seconds until the next attempt; None: no retry."""
        if not errors.may_be_retried(error) or operation.writes or attempt >= ATTEMPTS:
            return None
        jitter = self.client.random() * FIRST_JITTER * 2 ** (attempt - 1)
        wait = max(jitter + (error.retry_after or 0.0), self.client.rate_limiter.paused_for(operation.name))
        left = self.until - self.client.clocks.monotonic()
        is_in_time = wait <= LONGEST_WAIT and wait + SHORTEST_ATTEMPT <= left
        return wait if is_in_time else None


# The URL of each `httpx.Request` of this module: the transport takes the address from the extension `ADDRESS` instead.
_PLACEHOLDER = httpx.URL("http://platform")


@lru_cache
def _headers(method: str, name: str, value: str) -> httpx.Headers:
    """Return the headers of a request, with `name: value` added; cached, because creating headers takes long."""
    return httpx.Headers(headers_of(method) | {name: value})


class TlsFailed(httpx.ConnectError):
    """TLS failed, for example because the certificate is not trusted."""


class Unresolved(httpx.ConnectError):
    """The host name does not resolve, or is not valid."""


class HeadTooLarge(httpx.RemoteProtocolError):
    """An answer has a line that is too long, such as a header, or has too many headers."""


# An exception of httpx, the error that replaces it, and how the error's text begins. The first match decides.
_ERRORS: tuple[tuple[type[httpx.HTTPError], type[PlatformError], str], ...] = (
    (httpx.ProxyError, errors.ProxyFault, "no connection through the proxy"),
    (TlsFailed, errors.TlsFault, "TLS failed"),
    (Unresolved, errors.NameFault, "the host name does not resolve"),
    (httpx.ConnectTimeout, errors.ConnectTimeout, "no connection within the time limit"),
    (httpx.ConnectError, errors.Refused, "no connection could be made"),
    (httpx.NetworkError, errors.Reset, "the connection ended before the answer did"),
    (HeadTooLarge, errors.TooLarge, "the head of the answer has over 128 headers, or a line over 8,190 bytes"),
    (httpx.DecodingError, errors.NotJson, "the body cannot be decoded"),
    (httpx.RemoteProtocolError, errors.NotHttp, "the answer is not HTTP"),
    (httpx.HTTPError, errors.TransportError, "the call failed"),
)


def fault_of(error: httpx.HTTPError, host: str) -> PlatformError:
    """Return the error for an exception of httpx, with the host and the text of the exception."""
    kind, words = next((kind, words) for exception, kind, words in _ERRORS if isinstance(error, exception))
    return kind(f"{words} ({host}: {error})" if str(error) else f"{words} ({host})")
