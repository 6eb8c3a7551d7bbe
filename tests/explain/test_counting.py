from collections.abc import Callable
from typing import Any

import pytest

from exporter.collectors.causes import Cause
from exporter.explain.explainer import EVERY_SECONDS, FIRST_SECONDS, Explainer, keep_counting
from tests.exporter_parts import exporter_parts
from tests.turned_clock import TurnedClock


class Ended(Exception):
    """Raised when the test has seen enough."""


async def counted(explainer: Explainer, show: Callable[[Any], object], clock: TurnedClock, times: int) -> list[float]:
    """Count so many times; return the waits before each count, and that after the last."""
    waits: list[float] = []

    async def sleep(wait: float) -> None:
        waits.append(wait)
        if len(waits) > times:
            raise Ended
        clock.now += wait

    with pytest.raises(Ended):
        await keep_counting(explainer, show, clock, sleep)
    return waits


@pytest.mark.parametrize(("seconds", "expected"), [(0.0, EVERY_SECONDS), (5.0, 500.0)])
async def test_a_count_takes_a_hundredth_of_the_time_at_most(seconds: float, expected: float) -> None:
    clock, shown = TurnedClock(), list[object]()
    async with exporter_parts() as parts:
        explainer = parts.explainer()
        absences = explainer.absences

        def slowly() -> object:
            clock.now += seconds
            return absences()

        explainer.absences = slowly  # type: ignore[method-assign,assignment]
        waits = await counted(explainer, shown.append, clock, 8)
    assert (waits[0], waits[-1], all(shown)) == (FIRST_SECONDS, expected, True)


async def test_the_metric_counts_families_of_targets_by_collector_and_cause() -> None:
    async with exporter_parts(collectors={"dns_record_scans": {"enabled": False}}) as parts:
        await counted(parts.explainer(), parts.telemetry.show_absent, TurnedClock(), 1)
        await parts.renderer.render()
        disabled = parts.value(
            "edge_exporter_absent_families", collector="dns_record_scans", cause=Cause.COLLECTOR_DISABLED
        )
        assert disabled == 12 * 7
        parts.telemetry.show_absent({})
        await parts.renderer.render()
        assert parts.samples("edge_exporter_absent_families") == {}
