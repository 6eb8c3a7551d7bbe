"""The client of one account, through which every call to its platform is made, and the key of that account."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import httpx

from exporter.blocking import blocking
from exporter.clock import SYSTEM, Clocks
from exporter.platform import errors
from exporter.platform.errors import CredentialError, PlatformError
from exporter.platform.http import responses, transport
from exporter.platform.http.rate_limiter import RateLimiter
from exporter.platform.http.responses import read_body
from exporter.platform.http.retry import SHORT_WAIT, Retry, http_date, retry_after_seconds
from exporter.platform.operation import (
    ADDRESS,
    ANEW,
    Answer,
    CallResult,
    Operation,
    Request,
    address_of,
    content_of,
    headers_of,
)
from exporter.platform.wire import unexpected_in

T = TypeVar("T")

# A longer body, in bytes, is parsed by the executor; a shorter one takes a few milliseconds.
LONG_BODY = 512 * 1024
_PARTIAL = 206


class Credential:
    """How a call is authenticated (interface document, Authentication).

    Args:
        scheme: `access_key` for the header `AccessKey`, `bearer` for `Authorization`.
        read: returns the key or token; called for each request, so that a rotated one is used at once.
        refresh: awaited before `read`, if finding out whether the key was rotated may take time.

    Attributes:
        refused: the secret that the platform refused at its last use; empty if it could not be read; None otherwise.
    """

    __slots__ = ("_read", "_refresh", "_scheme", "refused")

    def __init__(
        self, scheme: str, read: Callable[[], str], refresh: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._scheme = scheme
        self._read = read
        self._refresh = refresh
        self.refused: str | None = None

    async def header(self) -> tuple[str, str, str]:
        """Return the current key or token, after a check whether it was rotated; and the header that contains it.

        Raises:
            CredentialError: it cannot be read, or is not valid in a header.
        """
        if self._refresh is not None:
            await self._refresh()
        try:
            secret = self._read()
        except CredentialError:
            self.refused = ""
            raise
        if not secret or not secret.isascii() or not secret.isprintable():
            self.refused = secret
            raise CredentialError("the key is empty, or holds characters that are not allowed in a header")
        if self._scheme == "access_key":
            return secret, "AccessKey", secret
        return secret, "Authorization", f"Bearer {secret}"

    def is_refused(self) -> bool:
        """Return whether the platform refused the secret at its last use."""
        return self.refused is not None

    def take_renewal(self) -> bool:
        """Clear the refusal if the secret has been replaced since; return whether it was."""
        if self.refused is not None:
            with suppress(CredentialError):
                if self._read() != self.refused:
                    self.refused = None
                    return True
        return False


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
        connect: makes the transport that sends the requests, such as `exporter.platform.http.transport.connector`.
        rate_limiter: limits the calls of the account.
        retry: when reads are retried.
        timeout: the deadline of a whole attempt, in seconds; shorter for a retry whose answer would be useless by then.
        observer: is notified of every attempt.
        clocks: the clocks.
        platform_time: the `Date` of a good answer → the accepted time, as `PlatformTime.read` returns it.
        parsing: parses long answers, one at a time, because of the memory that they take; None parses them on the event
            loop, for a command that does nothing else.
        secrets: what is masked in answers beside the credential, such as a proxy's password.
    """

    base_url: str
    credential: Credential
    connect: Callable[[], Awaitable[httpx.AsyncBaseTransport]]
    rate_limiter: RateLimiter
    retry: Retry
    timeout: float
    observer: Observer
    clocks: Clocks = SYSTEM
    platform_time: Callable[[datetime | None], datetime | None] = lambda date: date
    parsing: Executor | None = None
    secrets: tuple[str, ...] = ()
    _transport: httpx.AsyncBaseTransport = field(init=False, default_factory=httpx.AsyncBaseTransport)
    _is_connected: bool = field(init=False, default=False)
    _connecting: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def until(self, moment: float | None) -> "PollCalls":
        """Return the caller of one poll, whose answers are useless after `moment`, on the monotonic clock."""
        return PollCalls(self, moment)

    def present(self) -> datetime:
        """Return the platform's time now, or this machine's while that is unknown."""
        return self.platform_time(None) or self.clocks.utc()

    async def call(self, request: Request[T], until: float | None) -> CallResult[T]:
        """Carry out a request; retry a read while its answer would still be useful.

        Args:
            request: the request.
            until: when the answer becomes useless, on the monotonic clock; None for never.

        Raises:
            PlatformError: there is no usable answer.
        """
        operation, address = request.operation, address_of(self.base_url, request)
        if not self._is_connected:
            await self._connect()
        secret, name, value = await self.credential.header()
        try:
            sent = httpx.Request(
                operation.method,
                _parsed(self.base_url),
                headers=_headers(operation.method, name, value),
                # As a stream: for `content`, httpx computes headers, which takes a third of the time.
                stream=httpx.ByteStream(content_of(request) or b""),
                extensions={ADDRESS: address},
            )
        except httpx.InvalidURL as error:
            raise transport.fault_of(error, _host(self.base_url)) from None
        body, parameters = request.body or {}, operation.parameters
        secrets = (secret, *self.secrets, *(str(body[it.name]) for it in parameters if it.secret and it.name in body))
        attempt, seconds = 1, 0.0
        while True:
            try:
                result = await self._attempt(operation, sent, until, attempt, secrets=secrets)
            except PlatformError as error:
                error.seconds = seconds = seconds + error.seconds
                if isinstance(error, errors.Unauthorized):
                    self.credential.refused = secret
                error.redact(secrets)
                if not error.retryable or operation.writes or attempt >= self.retry.attempts:
                    raise
                wait = max(self.retry.wait(attempt, error.retry_after), self.rate_limiter.pause(operation.name))
                if isinstance(error, errors.TransportError):
                    sent.extensions[ANEW] = True
                if not self.retry.may_wait(wait, None if until is None else until - self.clocks.monotonic()):
                    raise
            else:
                self.credential.refused = None
                result.seconds += seconds
                return result
            self.observer.retried(operation.name)
            attempt += 1
            seconds += wait
            await self.clocks.sleep(wait)

    async def _connect(self) -> None:
        """Make the transport before the first attempt, whose time limit is not for the import of aiohttp."""
        async with self._connecting:
            if not self._is_connected:
                self._transport, self._is_connected = await self.connect(), True

    async def _attempt(
        self,
        operation: Operation[T],
        request: httpx.Request,
        until: float | None,
        attempt: int,
        *,
        secrets: tuple[str, ...],
    ) -> CallResult[T]:
        # A poll that cannot be begun now is begun after the pause; a command waits for its end.
        await self.rate_limiter.acquire(operation.name, lambda seconds: until is None or seconds <= SHORT_WAIT)
        began = self.clocks.monotonic()
        # It limits the duration that is reported, too: a suspension of the machine is none of the platform's.
        deadline = self.timeout
        # The first attempt always has the full timeout; a retry ends before the next poll is due.
        if attempt > 1 and until is not None:
            deadline = min(deadline, max(self.retry.shortest, until - began))
        code = "none"
        try:
            response, content = await self._send(operation, request, deadline, secrets)
            code = str(response.status_code)
            result = await self._understand(
                operation, response, content, min(deadline, self.clocks.monotonic() - began)
            )
            self.observer.attempted(operation.name, code, result.seconds, None)
            self.rate_limiter.answered(operation.name)
            return result
        except PlatformError as error:
            error.seconds = min(deadline, self.clocks.monotonic() - began)
            # The answer that a zone does not have a resource is not a failure.
            reason = None if isinstance(error, errors.NotAvailable) else error.reason
            code = str(error.status) if code == "none" and error.status else code
            self.observer.attempted(operation.name, code, error.seconds, reason)
            if errors.asks_to_wait(error):
                self.rate_limiter.limited(operation.name, error.retry_after)
            elif not isinstance(error, errors.TransportError | errors.ServerError):
                # Any other answer, also a refusal, shows that the operation is not limited.
                self.rate_limiter.answered(operation.name)
            raise
        finally:
            self.rate_limiter.release()

    async def _send(
        self, operation: Operation[T], request: httpx.Request, deadline: float, secrets: tuple[str, ...]
    ) -> tuple[httpx.Response, bytes]:
        """Send a request and read its answer, within a number of seconds."""
        came: httpx.Response | None = None
        content = b""
        try:
            async with asyncio.timeout(deadline):
                came = await self._transport.handle_async_request(request)
                stream = cast("httpx.AsyncByteStream", came.stream)
                try:
                    content = await read_body(came, stream, operation.most_bytes, secrets)
                finally:
                    await stream.aclose()
        except (TimeoutError, *transport.CAUGHT) as error:
            # With an error status, the body is not needed.
            if came is not None and not came.is_success:
                return came, content
            raise self._fault_of(error, came, deadline) from None
        return came, content

    def _fault_of(self, error: Exception, came: httpx.Response | None, deadline: float) -> PlatformError:
        if isinstance(error, TimeoutError):
            late = "no answer" if came is None else "the body did not end"
            fault: PlatformError = errors.Deadline(f"{late} within {deadline:.3g} s ({_host(self.base_url)})")
        else:
            fault = transport.fault_of(error, _host(self.base_url))
        fault.status = came.status_code if came is not None else 0
        return fault

    async def _understand(
        self, operation: Operation[T], response: httpx.Response, raw: bytes, seconds: float
    ) -> CallResult[Any]:
        status = response.status_code
        date = http_date(response.headers.get("date"))
        if not response.is_success:
            failure = responses.status_error(status, raw, self._asked_to_wait(response, date))
            if status not in operation.absent or isinstance(failure, errors.NotAvailable):
                raise failure
        if status == _PARTIAL:
            raise errors.BadAnswer(
                "the platform answered 206 with a part of a body, which was not asked for", status=206
            )
        moment = self.platform_time(date)
        if status in operation.absent:
            return CallResult(Answer(None, moment, raw, seconds), seconds)
        unreadable = set[str]()
        try:
            if self.parsing is None or len(raw) <= LONG_BODY:
                value = responses.payload(operation, raw, status, unreadable)
            else:
                value = await blocking(self.parsing, responses.payload, operation, raw, status, unreadable)
        except PlatformError as error:
            # The body may report a 429 or 503 that the status does not have.
            error.retry_after = self._asked_to_wait(response, date)
            raise
        for name in (*unreadable, *unexpected_in(value)):
            self.observer.unexpected(operation.name, name)
        return CallResult(Answer(value, moment, raw, seconds), seconds)

    def _asked_to_wait(self, response: httpx.Response, date: datetime | None) -> float | None:
        return retry_after_seconds(response.headers.get("retry-after"), date or self.clocks.utc())


@dataclass(slots=True, eq=False)
class PollCalls:
    """The calls of one poll, and what they took.

    Attributes:
        client: the account's client.
        until: the time on the monotonic clock after which answers are useless; None if there is none.
        number: the number of calls, without retries.
        seconds: their duration: attempts and the waits between them, without the waits for the account's budget.
    """

    client: Client
    until: float | None
    number: int = 0
    seconds: float = 0.0

    async def call(self, request: Request[T]) -> Answer[T]:
        """Send a request; raises PlatformError if there is no usable answer."""
        self.number += 1
        try:
            result = await self.client.call(request, self.until)
        except PlatformError as error:
            self.seconds += error.seconds
            raise
        self.seconds += result.seconds
        return result.answer


# Parsing an address takes two thirds of the time of a request, and its headers most of the rest.
_parsed = lru_cache(httpx.URL)


@lru_cache
def _headers(method: str, name: str, value: str) -> httpx.Headers:
    """Return the headers of a request, with its credential."""
    return httpx.Headers(headers_of(method) | {name: value})


def _host(base_url: str) -> str:
    return urlsplit(base_url).netloc.rpartition("@")[2]
