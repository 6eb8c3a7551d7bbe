"""The request budget of an account or database: a rate, a limit of calls in flight, and the pauses of operations.

An answer that asks to wait (429, 503, or 403 with `Retry-After`) pauses its operation. The answer also halves the rate,
down to a sixteenth, unless the operation was paused already. The rate rises again with complete answers, unless they
ask to wait or are a 5xx. If two operations are paused at the same time, all calls wait for the end of both pauses.

The length of a pause is guessed. A guess is a second at first, then twice the last guess, at most a minute; a pause
lasts between half of the guess and all of it. If `Retry-After` asks for more seconds, the pause lasts that long, but
at most five minutes.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from exporter.clock import Clocks
from exporter.platform.errors import RateLimited

# The longest pause of an operation, in seconds. If an answer asks for more, the schedule lets only the target of the
# call wait longer, because the answer may concern this target alone.
LONGEST_PAUSE = 300.0
# The first and the longest guess of the length of a pause, in seconds.
FIRST_GUESS = 1.0
LONGEST_GUESS = 60.0
# After a delay of the process, or a time without calls, at most the calls of this many seconds are sent at once.
BURST_SECONDS = 0.1
# The lowest granted share of the rate.
LOWEST_SHARE = 1 / 16
# The share of the rate that a call of `recover` adds again, until the whole rate is granted.
RECOVERY_PER_ANSWER = 0.02


@dataclass(slots=True)
class _Pause:
    """The pause of an operation: its end on the monotonic clock, and the last guess of its length, in seconds."""

    until: float = 0.0
    guess: float = 0.0


class RateLimiter:
    """Grants calls: at most `rate` a second on average and `max_in_flight` at once, and none of a paused operation.

    Args:
        random: returns a number in [0, 1); a guessed pause lasts (1 + number) / 2 of the guess.

    Attributes:
        rate: the highest number of requests a second.
        max_in_flight: the highest number of calls at once.
    """

    def __init__(self, rate: float, max_in_flight: int, *, clocks: Clocks, random: Callable[[], float]) -> None:
        self.rate = rate
        self.max_in_flight = max_in_flight
        self._clocks = clocks
        self._random = random
        self._in_flight = asyncio.Semaphore(max_in_flight)
        # A slot is the time from which a call may be sent. The call that waits for the next slot holds this lock.
        self._turn = asyncio.Lock()
        self._next_slot_at = clocks.monotonic()
        self._granted_share = 1.0
        self._pauses: dict[str, _Pause] = {}
        # The time on the monotonic clock until which all operations are paused.
        self._paused_until = clocks.monotonic()

    @property
    def effective_rate(self) -> float:
        """The requests a second that are granted now, unless calls are paused."""
        return self.rate * self._granted_share

    def paused_for(self, *operations: str) -> float:
        """Return the seconds until no pause applies to these operations or to the account; 0 if none applies now."""
        ends = [self._pauses[name].until for name in operations if name in self._pauses]
        return max(0.0, max([self._paused_until, *ends]) - self._clocks.monotonic())

    async def acquire(self, operation: str, longest: float) -> None:
        """Wait until an operation may be called. The caller then calls `release` after the call.

        `longest` is the highest number of seconds to wait for the end of a pause.

        Raises:
            RateLimited: the pause takes longer; `retry_after` is the rest of the pause, in seconds.
        """
        while True:
            await self._wait_for_pause(operation, longest)
            await self._in_flight.acquire()
            try:
                await self._wait_for_slot()
            except BaseException:
                self._in_flight.release()
                raise
            if not self.paused_for(operation):
                return
            # The operation was paused while the call waited for its turn.
            self._in_flight.release()

    async def _wait_for_pause(self, operation: str, longest: float) -> None:
        while (left := self.paused_for(operation)) > 0:
            if left > longest:
                said = f"calls of {operation} are paused for another {left:.0f} s, after an answer that asked to wait"
                raise RateLimited(said, retry_after=left)
            await self._clocks.sleep(left)

    async def _wait_for_slot(self) -> None:
        # One call at a time waits for a slot. If several calls had slots in advance, all of these slots would be past
        # after a stall of the process, and their calls would be sent at once.
        async with self._turn:
            left = self._next_slot_at - self._clocks.monotonic()
            if left > 0:
                await self._clocks.sleep(left)
            # The next slot follows from the time of this slot. If it followed from the time of waking, each late waking
            # would lower the rate. Delays of more than `BURST_SECONDS` are not made up for.
            counted_from = max(self._next_slot_at, self._clocks.monotonic() - BURST_SECONDS)
            self._next_slot_at = counted_from + 1.0 / self.effective_rate

    def release(self) -> None:
        """Report the end of a call that `acquire` has granted."""
        self._in_flight.release()

    def recover(self, operation: str) -> None:
        """Raise the rate after an answer that asks for no wait. Forget the guess if the operation is not paused."""
        self._granted_share = min(1.0, self._granted_share + RECOVERY_PER_ANSWER)
        if operation in self._pauses and not self.paused_for(operation):
            del self._pauses[operation]

    def pause(self, operation: str, wait: float | None) -> None:
        """Pause an operation whose answer asks to wait.

        `wait` is the seconds in the answer's `Retry-After`, or None without this header. 0 has the same effect as None.
        """
        now = self._clocks.monotonic()
        pause = self._pauses.setdefault(operation, _Pause())
        # Calls in flight may all be asked to wait: the first of these answers halves the rate and begins the pause.
        if pause.until <= now:
            self._granted_share = max(LOWEST_SHARE, self._granted_share / 2)
            pause.guess = min(LONGEST_GUESS, max(FIRST_GUESS, pause.guess * 2))
            pause.until = now + pause.guess * (1 + self._random()) / 2
        if wait:
            pause.until = max(pause.until, now + min(LONGEST_PAUSE, wait))
        ends = [other.until for other in self._pauses.values() if other.until > now]
        is_account_limited = len(ends) > 1
        if is_account_limited:
            self._paused_until = max(ends)
