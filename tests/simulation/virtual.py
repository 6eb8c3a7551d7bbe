"""Virtual time: an event loop that never waits, the clocks that it moves, and executors that run work in place.

`select` returns at once; where nothing is ready, the loop's time jumps to the next timer. So a day takes as long as its
work. There are neither sockets nor threads on this loop.
"""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _JumpingSelector(selectors.DefaultSelector):
    """Returns what is ready now, and moves the time by the timeout if nothing is."""

    def __init__(self, clock: "VirtualClock") -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Never block; without a timer and without anything ready, all tasks wait for each other."""
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("every task waits, and there is no timer that could wake one")
        if not ready and timeout:
            self._clock.elapsed += timeout
        return ready


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

    def suspend(self, seconds: float) -> None:
        """Suspend the machine."""
        self.elapsed += seconds
        self.asleep += seconds

    def wall(self) -> float:
        """Return the machine's wall clock in unix seconds."""
        return self.true() + self.step


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
        return executor.begin(self, func, args)


@dataclass(eq=False)
class InlineExecutor(Executor):
    """Runs work when a virtual delay has passed.

    Attributes:
        delay: the seconds that each piece of work takes; infinite hangs.
        begun: how many pieces of work were begun.
    """

    kind: str
    delay: float = 0.0
    begun: int = 0
    hanging: "list[tuple[asyncio.Future[Any], Callable[..., Any], tuple[Any, ...]]]" = field(default_factory=list)

    def begin(
        self, loop: asyncio.AbstractEventLoop, func: Callable[..., T], args: tuple[Any, ...]
    ) -> "asyncio.Future[T]":
        """Begin work, and return the future of its result."""
        future: asyncio.Future[T] = loop.create_future()
        self.begun += 1
        if self.delay == float("inf"):
            self.hanging.append((future, func, args))
        else:
            loop.call_later(self.delay, _run, future, func, args)
        return future

    def release(self) -> None:
        """Go on with what hangs, and be fast from now on."""
        self.delay, hanging, self.hanging = 0.0, self.hanging, []
        for future, func, args in hanging:
            _run(future, func, args)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        """Run work at once; for callers without a loop."""
        done: Future[T] = Future()
        done.set_result(fn(*args, **kwargs))
        return done

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """Do nothing: there are no threads."""


def _run(future: "asyncio.Future[Any]", func: Callable[..., Any], args: tuple[Any, ...]) -> None:
    if future.done():
        return
    try:
        future.set_result(func(*args))
    except Exception as error:  # noqa: BLE001 - it is passed on
        future.set_exception(error)
