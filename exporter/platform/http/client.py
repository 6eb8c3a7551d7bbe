"""The client of one account, through which every call to its platform is made."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from exporter.clock import SYSTEM, Clocks
from exporter.platform.errors import (
    Deadline,
    NotAvailable,
    PlatformError,
    RateLimited,
    ServerError,
    TransportError,
    Unauthorized,
)
from exporter.platform.http import responses, transport
from exporter.platform.http.credential import Credential
from exporter.platform.http.mask import Mask
from exporter.platform.http.observer import Observer
from exporter.platform.http.rate_limiter import Paused, RateLimiter, Retry, http_date, retry_after_seconds
from exporter.platform.http.recognition import Recognition, UnchangedError
from exporter.platform.http.responses import Content, read_body
from exporter.platform.operation import ADDRESS, Answer, Operation, Request, address_of, content_of, headers_of
from exporter.platform.wire import unexpected_in
from exporter.responsive.event_loop import Turns

T = TypeVar("T")

# A poll may wait this long, in seconds, before a retry. At most half of an account's workers may wait longer, as
# Retry-After may ask, so that other targets are still polled.
SHORT_REST = 2.0


class Client:
    """Carries out operations for one account, within its budget.

    Args:
        base_url: the management API, or a database's endpoint.
        credential: how calls are authenticated.
        transport: sends the requests, such as an `exporter.platform.http.transport.AiohttpTransport`.
        rate_limiter: limits the calls of the account.
        retry: when reads are retried.
        timeout: the deadline of a whole attempt, in seconds; shorter for a retry whose answer would be useless by then.
        observer: is notified of every attempt.
        clocks: the clocks.
        platform_time: the `Date` of a good answer → the accepted time, as `PlatformTime.read` returns it.
        turns: the order in which long answers are parsed; shared by the clients of an event loop.
    """

    def __init__(
        self,
        base_url: str,
        credential: Credential,
        *,
        transport: httpx.AsyncBaseTransport,
        rate_limiter: RateLimiter,
        retry: Retry,
        timeout: float,
        observer: Observer,
        clocks: Clocks = SYSTEM,
        platform_time: Callable[[datetime | None], datetime | None] = lambda date: date,
        turns: Turns | None = None,
    ) -> None:
        self.rate_limiter = rate_limiter
        self._base = base_url.rstrip("/")
        self._host = urlsplit(base_url).netloc.rpartition("@")[2]
        self.credential = credential
        self._transport = transport
        self._retry = retry
        self._timeout = timeout
        self._observer = observer
        self._clocks = clocks
        self._platform_time = platform_time
        self._turns = turns or Turns()
        # The mask of the last call. Building one takes milliseconds, and nearly all calls have the same secrets.
        self._mask = Mask()
        # The number of calls that wait before a retry.
        self._resting = 0

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def until(self, moment: float, recognition: Recognition | None = None) -> "BoundClient":
        """Return this client for the calls of one poll.

        Args:
            moment: when answers become useless, on the monotonic clock.
            recognition: recognises an answer that is equal to the last one.
        """
        return BoundClient(self, moment, recognition)

    async def call(self, request: Request[T]) -> Answer[T]:
        """Send a request without a deadline; raises `PlatformError` without a usable answer."""
        return await BoundClient(self, None).call(request)

    async def find(self, request: Request[T]) -> Answer[T | None]:
        """Send a request without a deadline; the value is None if the status means that the resource does not exist."""
        return await BoundClient(self, None).find(request)

    def present(self) -> datetime:
        """Return the platform's time now, or this machine's while that is unknown."""
        return self._platform_time(None) or self._clocks.utc()

    def address(self, request: Request[Any]) -> str:
        """Return the URL of a request.

        Raises:
            KeyError: a parameter of the path is missing.
        """
        return address_of(self._base, request)

    async def carry_out(self, request: Request[T], bound: "BoundClient") -> Answer[Any]:
        """Carry out a request; retry a read while its answer would still be useful.

        Args:
            request: the request.
            bound: has the time until which the answer is useful; the duration of the call is added to it.

        Raises:
            PlatformError: there is no usable answer.
        """
        until, operation = bound.until, request.operation
        address = self.address(request)
        await self._transport.__aenter__()
        secret = await self.credential.current()
        name, value = self.credential.header(secret)
        try:
            sent = httpx.Request(
                operation.method,
                address,
                headers=headers_of(request) | {name: value},
                # As a stream: for `content`, httpx computes headers, which takes a third of the time.
                stream=httpx.ByteStream(content_of(request) or b""),
                extensions={ADDRESS: address},
            )
        except httpx.InvalidURL as error:
            raise transport.fault_of(error, self._host) from None
        secrets = (secret, *_secrets(request))
        if not self._mask.is_of(secrets):
            self._mask = Mask(secrets)
        mask = self._mask
        attempt = 1
        while True:
            # The first attempt always has the full timeout; a retry ends before the next poll is due.
            ends = until if attempt > 1 else None
            try:
                answer = await self._attempt(operation, sent, bound, ends, mask)
                self.credential.accept()
                return answer
            except PlatformError as error:
                if isinstance(error, Unauthorized):
                    self.credential.refuse(secret)
                for text in secrets:
                    error.redact(text)
                if not error.retryable or operation.writes or attempt >= self._retry.attempts:
                    raise
                wait = self._retry.wait(attempt, error.retry_after)
                if wait > self._retry.patience or (until is not None and not self._can_rest(wait, until)):
                    raise
            self._observer.retried(operation.name)
            attempt += 1
            self._resting += 1
            bound.seconds += wait
            try:
                await self._clocks.sleep(wait)
            finally:
                self._resting -= 1

    def _can_rest(self, wait: float, until: float) -> bool:
        """Return whether a poll may wait for a retry: time must be left for it, and workers for other targets."""
        if self._clocks.monotonic() + wait + self._retry.shortest > until:
            return False
        return wait <= SHORT_REST or self._resting < self.rate_limiter.max_in_flight // 2

    async def _attempt(
        self, operation: Operation[T], request: httpx.Request, bound: "BoundClient", ends: float | None, mask: Mask
    ) -> Answer[Any]:
        resource = request.url.path
        try:
            permit = await self.rate_limiter.acquire(resource, bound.until)
        except Paused as paused:
            raise RateLimited(str(paused), status=429, retry_after=paused.seconds) from None
        began = self._clocks.monotonic()
        limited = answered = False
        wait: float | None = None
        try:
            answer = await self._exchange(operation, request, bound, ends, mask)
            answered = True
            return answer
        except RateLimited as error:
            limited, wait = True, error.retry_after
            raise
        except PlatformError as error:
            # Any answer other than a 429 or a server error, also a refusal, shows that the account is not limited.
            answered = not isinstance(error, TransportError | ServerError)
            raise
        finally:
            bound.seconds += self._clocks.monotonic() - began
            self.rate_limiter.release(permit, limited=limited, answered=answered, wait=wait)

    async def _exchange(
        self, operation: Operation[T], request: httpx.Request, bound: "BoundClient", ends: float | None, mask: Mask
    ) -> Answer[Any]:
        began = self._clocks.monotonic()
        deadline = self._timeout
        if ends is not None:
            deadline = min(deadline, max(self._retry.shortest, ends - began))
        code = "none"
        try:
            response, content = await self._send(operation, request, deadline, mask)
            code = str(response.status_code)
            answer = self._understand(operation, response, content, self._clocks.monotonic() - began, bound)
        except PlatformError as error:
            # The answer that a zone does not have a resource is not a failure.
            reason = None if isinstance(error, NotAvailable) else error.reason
            code = str(error.status) if code == "none" and error.status else code
            self._observer.attempted(operation.name, code, self._clocks.monotonic() - began, reason)
            raise
        self._observer.attempted(operation.name, code, answer.seconds, None)
        return answer

    async def _send(
        self, operation: Operation[T], request: httpx.Request, deadline: float, mask: Mask
    ) -> tuple[httpx.Response, Content]:
        """Send a request and read its answer, within a number of seconds."""
        came: httpx.Response | None = None
        content = Content(b"")
        try:
            async with asyncio.timeout(deadline):
                came = await self._transport.handle_async_request(request)
                try:
                    content = await read_body(came, operation.items, self._turns, mask)
                finally:
                    await came.aclose()
        except (TimeoutError, *transport.CAUGHT) as error:
            # With an error status, the body is not needed.
            if came is None or came.is_success:
                raise self._fault(error, came, deadline) from None
        return came, content

    def _fault(self, error: Exception, came: httpx.Response | None, deadline: float) -> PlatformError:
        if isinstance(error, TimeoutError):
            late = "no answer" if came is None else "the body did not end"
            fault: PlatformError = Deadline(f"{late} within {deadline:.3g} s ({self._host})")
        else:
            fault = transport.fault_of(error, self._host)
        fault.status = came.status_code if came is not None else 0
        return fault

    def _understand(
        self, operation: Operation[T], response: httpx.Response, content: Content, seconds: float, bound: "BoundClient"
    ) -> Answer[Any]:
        status, raw = response.status_code, content.raw
        recognition = bound.recognition if operation.recognisable else None
        date = http_date(response.headers.get("date"))
        if status in operation.absent:
            return Answer(None, self._platform_time(date), raw, seconds)
        if not response.is_success:
            wait = retry_after_seconds(response.headers.get("retry-after"), date or self._clocks.utc())
            raise responses.status_error(status, raw, wait)
        moment = self._platform_time(date)
        if recognition is not None and recognition.take(raw, moment, is_only=bound.calls == 1):
            return Answer(None, moment, raw, seconds, is_recognised=True)
        value: Any = responses.payload(operation, raw, status, content.parsed)
        for name in unexpected_in(value):
            self._observer.unexpected(operation.name, name)
            bound.unexpected |= {name}
            if recognition is not None:
                recognition.spoil()
        return Answer(value, moment, raw, seconds)


class BoundClient:
    """A client for the calls of one poll, which `Client.until` creates.

    Attributes:
        until: the time on the monotonic clock after which answers are useless; None if there is none.
        calls: the number of calls, without retries.
        seconds: their duration: attempts and the waits between them, without the waits for the account's budget.
        recognition: recognises an answer that is equal to the last one; `call` then raises `UnchangedError`.
        unexpected: the JSON names of fields with an unknown value in good answers.
    """

    __slots__ = ("_client", "calls", "recognition", "seconds", "unexpected", "until")

    def __init__(self, client: Client, until: float | None, recognition: Recognition | None = None) -> None:
        self._client = client
        self.until = until
        self.recognition = recognition
        self.calls = 0
        self.seconds = 0.0
        self.unexpected: frozenset[str] = frozenset()

    async def call(self, request: Request[T]) -> Answer[T]:
        """Send a request; raises `UnchangedError` if the answer equals the last one."""
        self.calls += 1
        answer = await self._client.carry_out(request, self)
        if answer.is_recognised:
            raise UnchangedError(answer.date)
        return answer

    async def find(self, request: Request[T]) -> Answer[T | None]:
        """Send a request whose value may be None; raises `UnchangedError` if the answer equals the last one."""
        self.calls += 1
        answer = await self._client.carry_out(request, self)
        if answer.is_recognised:
            raise UnchangedError(answer.date)
        return answer


def _secrets(request: Request[Any]) -> list[str]:
    """Return the secrets in a request's body."""
    body = request.body or {}
    return [str(body[it.name]) for it in request.operation.parameters if it.secret and it.name in body]
