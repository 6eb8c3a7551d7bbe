"""The request budget of one account: a token bucket, a limit of calls in flight, and the reaction to a 429.

A 429 may concern a single resource or the whole account; the answer does not say which. So the first 429 makes the
account *suspect*: calls are sent one at a time until an answer decides. If a call is answered, only that resource was
limited, or the limit is over, and all calls continue. If a call for another path gets a 429, too, the account is
limited: all calls wait as long as the platform asked (or an exponentially growing time if it did not say), and the rate
is halved. The rate rises again with each answered call. A failed read is retried after a growing, random wait.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

from exporter.clock import Clocks
from exporter.platform.errors import RateLimited

# A longer wait in seconds that the platform asks for is shortened to this one.
LONGEST_PAUSE = 3600.0
# The pauses after a 429 that does not say how long to wait.
FIRST_GUESS = 1.0
LONGEST_GUESS = 60.0
BURST_SECONDS = 0.1
LOWEST_FACTOR = 1 / 16
RECOVERY_PER_ANSWER = 0.02


@dataclass(slots=True, eq=False)
class Permit:
    """The permit for one call of `path`; `suspect` means that it was granted while the account was suspect."""

    path: str
    suspect: bool = False


class RateLimiter:
    """Grants permits for calls: at most `rate` a second and `max_in_flight` at once.

    Args:
        rate: requests a second.
        max_in_flight: calls at once.
        clocks: the clocks.
        throttled: called with the seconds that a call waited.

    Attributes:
        rate: requests a second that are granted without a 429.
        max_in_flight: calls at once that are granted.
    """

    def __init__(
        self,
        rate: float,
        max_in_flight: int,
        *,
        clocks: Clocks,
        throttled: Callable[[float], None],
    ) -> None:
        self.rate = rate
        self.max_in_flight = max_in_flight
        self._clock = clocks.monotonic
        self._sleep = clocks.sleep
        self._throttled = throttled
        self._in_flight = asyncio.Semaphore(max_in_flight)
        # Held by the one call that waits for the next slot; the other calls queue for it.
        self._turn = asyncio.Lock()
        self._next_slot = clocks.monotonic()
        self._factor = 1.0
        self._paused_until = clocks.monotonic()
        self._guess = 0.0
        self._suspect_path: str | None = None
        self._probe: Permit | None = None
        self._settled = asyncio.Event()

    @property
    def effective_rate(self) -> float:
        """The requests a second that are currently granted."""
        return self.rate * self._factor

    def pause(self) -> float:
        """Return the seconds until the account may be called again; 0 without a pause."""
        return max(0.0, self._paused_until - self._clock())

    async def acquire(self, path: str, until: float | None = None) -> Permit:
        """Wait for the permit for one call of `path`.

        Args:
            path: the path of the call.
            until: the time on the monotonic clock after which the call is useless.

        Raises:
            RateLimited: the account is paused beyond `until`; `retry_after` is the rest of the pause.
        """
        began = self._clock()
        await self._in_flight.acquire()
        permit = Permit(path)
        try:
            while True:
                await self._pass_gate(permit, until)
                await self._take_token()
                # If the account was paused or became suspect during the wait, the call waits again.
                if self.pause() <= 0 and (self._suspect_path is None or self._probe is permit):
                    break
                self._give_back_probe(permit)
        except BaseException:
            self.release(permit)
            raise
        waited = self._clock() - began
        if waited > 0:
            self._throttled(waited)
        return permit

    async def _pass_gate(self, permit: Permit, until: float | None) -> None:
        while True:
            left = self.pause()
            if left > 0:
                if until is not None and self._clock() + left > until:
                    message = f"the account is paused for another {left:.0f} s after a 429"
                    raise RateLimited(message, status=429, retry_after=left)
                await self._sleep(left)
            elif self._suspect_path is None or self._probe is None:
                permit.suspect = self._suspect_path is not None
                self._probe = permit if permit.suspect else self._probe
                return
            else:
                self._settled.clear()
                await self._settled.wait()

    async def _take_token(self) -> None:
        """Wait for the next slot of the rate; calls get slots in the order of their arrival."""
        # Only one call at a time waits for a slot. If several slots were assigned in advance, a stall of the process
        # would put them all in the past, and their calls would be sent at once.
        async with self._turn:
            left = self._next_slot - self._clock()
            if left > 0:
                await self._sleep(left)
            # The next slot is counted from this slot and not from the time of waking, so that late waking loses no
            # rate. Delays longer than the burst are not made up for.
            self._next_slot = max(self._next_slot, self._clock() - BURST_SECONDS) + 1.0 / self.effective_rate

    def release(
        self, permit: Permit, *, limited: bool = False, answered: bool = False, wait: float | None = None
    ) -> None:
        """Give the permit back, with the result of the call.

        Args:
            permit: the permit from `acquire`.
            limited: the platform answered 429.
            answered: the platform gave another answer, good or bad.
            wait: the seconds of its Retry-After, if it sent one.
        """
        self._in_flight.release()
        if limited:
            self._limited(permit, wait)
        elif answered:
            self._factor = min(1.0, self._factor + RECOVERY_PER_ANSWER)
            # An answer to a call that was made before the 429 proves nothing.
            if self._suspect_path is not None and permit.suspect:
                self._suspect_path = None
                self._guess = 0.0
        self._give_back_probe(permit)

    def _limited(self, permit: Permit, wait: float | None) -> None:
        if self._suspect_path is None:
            self._suspect_path = permit.path
            return
        # A 429 for the same path proves nothing about the account, and a pause that is running needs no second one.
        if permit.path == self._suspect_path or self.pause() > 0:
            return
        self._guess = min(LONGEST_GUESS, max(FIRST_GUESS, self._guess * 2))
        self._factor = max(LOWEST_FACTOR, self._factor / 2)
        # A Retry-After of 0 with repeated 429s is treated like a missing one.
        self._paused_until = self._clock() + (wait or self._guess)
        # After a pause the next call, for any path, is a probe.
        self._suspect_path = ""

    def _give_back_probe(self, permit: Permit) -> None:
        # Waiting calls are woken only here, so that they keep their order.
        if self._probe is permit:
            self._probe = None
            self._settled.set()


@dataclass(frozen=True, slots=True)
class Retry:
    """Exponential backoff with full jitter.

    Attributes:
        attempts: the number of attempts of a read, including the first.
        base: the upper bound of the first wait, in seconds; it doubles with each attempt.
        cap: the upper bound of any wait that the platform did not ask for.
        patience: the longest wait within a call, in seconds. If the platform asks for a longer one, the call fails with
            its length, so that the worker can make other calls in the meantime.
        shortest: a retry is made only if at least this time, in seconds, is left for it; otherwise it would probably be
            interrupted.
        random: returns a number in [0, 1).
    """

    random: Callable[[], float]
    attempts: int = 3
    base: float = 0.5
    cap: float = 10.0
    patience: float = 30.0
    shortest: float = 1.0

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait after attempt `attempt` (from 1); at least as long as the platform asked for."""
        jitter = self.random() * min(self.cap, self.base * float(1 << (attempt - 1)))
        return jitter if retry_after is None else retry_after + jitter


@lru_cache(maxsize=64)
def http_date(text: str | None) -> datetime | None:
    """Return a date of an HTTP header (RFC 9110, section 5.6.7) in UTC; None if it is missing or unreadable.

    Results are cached, because all answers of a second have the same date.
    """
    if not text:
        return None
    try:
        moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def retry_after_seconds(value: str | None, now: datetime) -> float | None:
    """`Retry-After` in either form, as seconds from `now` on, at most an hour; None if it is missing or unreadable.

    Args:
        value: the header: a number of seconds or an HTTP date.
        now: the sender's own clock, so that a difference between its clock and this machine's does not matter.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(LONGEST_PAUSE, float(text))
    moment = http_date(text)
    return None if moment is None else min(LONGEST_PAUSE, max(0.0, (moment - now).total_seconds()))
