"""Virtual time: an event loop without sockets and threads that jumps to its next timer, and its clocks."""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


@dataclass(eq=False)
class VirtualClock:
    """The clocks of the simulated machine; times are seconds.

    Attributes:
        began: the true unix time at which the simulation began.
        elapsed: the time that has passed since; it never goes back.
        asleep: for how much of it the machine was suspended, which an event loop's clock does not count.
        step: by how much the machine's wall clock differs from the true time.
    """

    began: float
    elapsed: float = 0.0
    asleep: float = 0.0
    step: float = 0.0

    def monotonic(self) -> float:
        """Return the machine's monotonic clock."""
        return 1000.0 + self.elapsed

    def true(self) -> float:
        """Return the true time, which the platform's clock shows, in unix seconds."""
        return self.began + self.elapsed

    def wall(self) -> float:
        """Return the machine's wall clock in unix seconds."""
        return self.true() + self.step

    def suspend(self, seconds: float) -> None:
        """Suspend the machine."""
        self.elapsed += seconds
        self.asleep += seconds


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("every task waits, and there is no timer that could wake one")
        if not ready and timeout:
            # After months, a smaller step would be lost in rounding, and the time would not advance.
            self._clock.elapsed += max(timeout, 1e-6)
        return ready


@dataclass(eq=False)
class InlineExecutor(Executor):
    """Runs work on the event loop, after a number of seconds."""

    delay: float = 0.0


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        super().__init__(_JumpingSelector(clock))

    def time(self) -> float:
        """Return the virtual time of event loops."""
        return self._clock.monotonic() - self._clock.asleep

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> "asyncio.Future[T]":
        """Run work in place; what uses the default executor is refused, because every kind of work has its own."""
        if not isinstance(executor, InlineExecutor):
            raise TypeError(f"{func} runs on {executor}, which is not an executor of the simulation")
        future: asyncio.Future[T] = self.create_future()

        def run() -> None:
            try:
                result = func(*args)
            except Exception as error:  # noqa: BLE001 - it is passed on
                if not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result(result)

        self.call_later(executor.delay, run)
        return future
