"""The pause that the platform asked for, for one account."""

from collections.abc import Callable

from exporter.clock import SYSTEM, Clocks

# The longest pause in seconds; a longer one is shortened to it.
LONGEST = 3600.0


class Pause:
    """A time in which an account is not called.

    It can continue after a restart: `until` gives the end to store, and `restore` takes it.

    Args:
        clocks: the monotonic clock measures the pause, and the wall clock gives its end.
        changed: called when a pause begins.
    """

    __slots__ = ("_changed", "_clocks", "_ends")

    def __init__(self, clocks: Clocks = SYSTEM, changed: Callable[[], None] = lambda: None) -> None:
        self._clocks = clocks
        self._changed = changed
        self._ends = clocks.monotonic()

    def begin(self, seconds: float) -> None:
        """Pause for a number of seconds from now on, at most an hour."""
        self._ends = self._clocks.monotonic() + min(LONGEST, seconds)
        self._changed()

    def left(self) -> float:
        """Return the seconds until the account may be called again; 0 without a pause."""
        return max(0.0, self._ends - self._clocks.monotonic())

    def until(self) -> float | None:
        """Return the end of the pause in unix seconds; None without a pause."""
        left = self.left()
        return self._clocks.wall() + left if left else None

    def restore(self, until: float) -> None:
        """Continue the pause of an earlier process, which ends at these unix seconds."""
        left = min(LONGEST, until - self._clocks.wall())
        self._ends = max(self._ends, self._clocks.monotonic() + left)
