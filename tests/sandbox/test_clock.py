from exporter.sandbox.clock import WorldClock


class Monotonic:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.value = 5.0

    def __call__(self) -> float:
        """Return the time."""
        return self.value


def test_a_stopped_clock_only_moves_by_advance() -> None:
    monotonic = Monotonic()
    clock = WorldClock(1_000.0, speed=0.0, monotonic=monotonic)
    monotonic.value += 60
    assert clock.now() == 1_000.0
    clock.advance(90)
    assert clock.now() == 1_090.0


def test_a_speed_applies_from_when_it_is_set() -> None:
    monotonic = Monotonic()
    clock = WorldClock(1_000.0, monotonic=monotonic)
    monotonic.value += 10
    clock.set_speed(60.0)
    monotonic.value += 2
    assert clock.now() == 1_000.0 + 10 + 120
    assert clock.speed == 60.0
