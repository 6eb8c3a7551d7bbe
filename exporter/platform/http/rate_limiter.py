"""The request budget of one account: a token bucket, a cap on calls in flight, and what a 429 does to both.

One 429 may be the limit of a single resource or that of the whole account, and nothing in it says which. So the first
one makes the account *suspect*: calls pass one at a time until one tells. If it is answered, the limit was the one
resource's, or is over, and the rest go on. If one for another path meets a 429 too, the limit is the account's:
everything waits as long as the platform asked (or an exponentially growing time where it did not say), and the rate is
halved. The rate comes back with the calls that are answered.
"""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass

from exporter.clock import Clocks
from exporter.platform.http.pause import Pause

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
BURST_SECONDS = 0.1
LOWEST_FACTOR = 1 / 16
RECOVERY_PER_ANSWER = 0.02


class Paused(Exception):
    """The account is paused for longer than the caller can wait; `seconds` are left of the pause."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the account is paused for another {seconds:.0f} s after a 429")
        self.seconds = seconds


@dataclass(slots=True, eq=False)
class Permit:
    """The right to one call of `path`; `suspect` tells that it was given while the account was suspect."""

    path: str
    suspect: bool


class RateLimiter:
    """Grants permits for calls: at most `rate` a second and `max_in_flight` at once.

    Args:
        rate: requests a second.
        max_in_flight: calls at once.
        clocks: the clocks.
        throttled: called with the seconds that a call waited.
        pause: the pause that the platform asked for; one that an earlier process left is waited for.

    Attributes:
        rate: requests a second that are granted where no 429 came.
        max_in_flight: calls at once that are granted.
        most_in_flight: calls at once that are granted without `resize`.
    """

    def __init__(
        self,
        rate: float,
        max_in_flight: int,
        *,
        clocks: Clocks,
        throttled: Callable[[float], None],
        pause: Pause | None = None,
    ) -> None:
        self.rate = rate
        self.max_in_flight = max_in_flight
        self.most_in_flight = max_in_flight
        self._whole_rate = rate
        # Calls at once that end without letting others begin, because fewer are allowed than before.
        self._too_many = 0
        self._clock = clocks.monotonic
        self._sleep = clocks.sleep
        self._throttled = throttled
        self._in_flight = asyncio.Semaphore(max_in_flight)
        # Held by the one call that waits for the next slot; the others queue behind it.
        self._turn = asyncio.Lock()
        self._next_slot = clocks.monotonic()
        self._factor = 1.0
        self._paused = pause or Pause(clocks)
        self._pause = 0.0
        # After a pause the next call is a probe, of whatever path.
        self._suspect_path: str | None = "" if self._paused.left() else None
        self._probe: Permit | None = None
        self._settled = asyncio.Event()

    def resize(self, share: float) -> None:
        """Grant a part of what the limiter was made with.

        Args:
            share: the part, above 0 and at most 1; of the calls at once, at least one is granted.
        """
        self.rate = self._whole_rate * share
        before, self.max_in_flight = self.max_in_flight, max(1, math.ceil(self.most_in_flight * share))
        self._too_many += before - self.max_in_flight
        while self._too_many < 0:
            self._too_many += 1
            self._in_flight.release()

    @property
    def effective_rate(self) -> float:
        """Requests a second that are given out at the moment."""
        return self.rate * self._factor

    def pause_left(self) -> float:
        """Seconds until the account may be called again; 0 where it is not paused."""
        return self._paused.left()

    async def acquire(self, path: str, until: float | None = None) -> Permit:
        """Wait for the right to one call of `path`.

        Args:
            path: the path that will be asked for.
            until: the moment on the clock after which the call is of no use.

        Raises:
            Paused: the account is paused beyond `until`.
        """
        began = self._clock()
        await self._in_flight.acquire()
        try:
            permit = await self._pass(path, until)
        except BaseException:
            self._leave()
            raise
        waited = self._clock() - began
        if waited > 0:
            self._throttled(waited)
        return permit

    async def _pass(self, path: str, until: float | None) -> Permit:
        while True:
            permit = await self._pass_gate(path, until)
            try:
                await self._take_token()
            except BaseException:
                self._give_back_probe(permit)
                raise
            # The gate may have shut while the call waited for its turn; then the turn is over, too.
            if self._is_open_to(permit):
                return permit
            self._give_back_probe(permit)

    def _is_open_to(self, permit: Permit) -> bool:
        return self.pause_left() <= 0 and (self._suspect_path is None or self._probe is permit)

    async def _pass_gate(self, path: str, until: float | None) -> Permit:
        while True:
            left = self.pause_left()
            if left > 0:
                if until is not None and self._clock() + left > until:
                    raise Paused(left)
                await self._sleep(left)
                continue
            if self._suspect_path is None:
                return Permit(path, suspect=False)
            if self._probe is None:
                self._probe = Permit(path, suspect=True)
                return self._probe
            self._settled.clear()
            await self._settled.wait()

    async def _take_token(self) -> None:
        """Wait for the next slot of the rate; calls take their slots in the order in which they came."""
        # One call at a time waits for a slot. Slots that were all given out before a stall of the process would be in
        # the past together after it, and their calls would leave at once.
        async with self._turn:
            left = self._next_slot - self._clock()
            if left > 0:
                await self._sleep(left)
            # Counted from the slot and not from the moment of waking, so that waking a little late loses no rate; what
            # is later than the burst is not made up for.
            self._next_slot = max(self._next_slot, self._clock() - BURST_SECONDS) + 1.0 / self.effective_rate

    def release(
        self, permit: Permit, *, limited: bool = False, answered: bool = False, wait: float | None = None
    ) -> None:
        """Give the permit back with what became of the call.

        Args:
            permit: what `acquire` gave.
            limited: the platform answered 429.
            answered: the platform answered otherwise, well or not.
            wait: the seconds of its Retry-After, where it sent one.
        """
        self._leave()
        if limited:
            self._limited(permit, wait)
        elif answered:
            self._factor = min(1.0, self._factor + RECOVERY_PER_ANSWER)
            # An answer to a call that was made before the 429 proves nothing.
            if self._suspect_path is not None and permit.suspect:
                self._suspect_path = None
                self._pause = 0.0
        self._give_back_probe(permit)

    def _leave(self) -> None:
        if self._too_many > 0:
            self._too_many -= 1
        else:
            self._in_flight.release()

    def _limited(self, permit: Permit, wait: float | None) -> None:
        if self._suspect_path is None:
            self._suspect_path = permit.path
            return
        # The same path again proves nothing about the account, and a pause that is running already says enough.
        if permit.path == self._suspect_path or self.pause_left() > 0:
            return
        self._pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, self._pause * 2))
        self._factor = max(LOWEST_FACTOR, self._factor / 2)
        # A Retry-After of 0 beside one 429 after another says as little as none.
        self._paused.begin(wait or self._pause)
        self._suspect_path = ""

    def _give_back_probe(self, permit: Permit) -> None:
        # Those who wait are woken for nothing else, so that they keep their order.
        if self._probe is permit:
            self._probe = None
            self._settled.set()
