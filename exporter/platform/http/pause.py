"""The pause that an account's platform asked for."""

from collections.abc import Callable

from exporter.clock import SYSTEM, Clocks

# Seconds; no platform is believed that asks for more.
LONGEST = 3600.0


class Pause:
    """A time in which an account is not called.

    It can be kept beyond the process: `until` is stored, and `restore` goes on with it.

    Args:
        clocks: the monotonic clock measures the pause, the wall clock tells when it ends.
        changed: called when a pause begins.
    """

    __slots__ = ("_changed", "_clocks", "_ends")

    def __init__(self, clocks: Clocks = SYSTEM, changed: Callable[[], None] = lambda: None) -> None:
        self._clocks = clocks
        self._changed = changed
        self._ends = clocks.monotonic()

    def begin(self, seconds: float) -> None:
        """Pause for so long from now on, at most an hour."""
        self._ends = self._clocks.monotonic() + min(LONGEST, seconds)
        self._changed()

    def left(self) -> float:
        """Seconds until the account may be called again; 0 where it is not paused."""
        return max(0.0, self._ends - self._clocks.monotonic())

    def until(self) -> float | None:
        """When the pause ends, in unix seconds; None where the account is not paused."""
        left = self.left()
        return self._clocks.wall() + left if left else None

    def restore(self, until: float) -> None:
        """Go on with a pause of an earlier process, which ends at these unix seconds."""
        left = min(LONGEST, until - self._clocks.wall())
        self._ends = max(self._ends, self._clocks.monotonic() + left)
