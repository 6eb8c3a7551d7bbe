import pytest

from exporter.collectors.causes import Cause
from exporter.explain.explainer import EVERY_SECONDS, FIRST_SECONDS, keep_counting
from tests.exporter_parts import exporter_parts
from tests.turned_clock import TurnedClock


class Ended(Exception):
    """Raised when the test has seen enough."""


@pytest.mark.parametrize(("seconds", "expected"), [(0.0, EVERY_SECONDS), (5.0, 500.0)])
async def test_a_count_takes_a_hundredth_of_the_time_at_most(seconds: float, expected: float) -> None:
    clock = TurnedClock()
    waits: list[float] = []

    def show(counts: object) -> None:
        assert counts

    async def sleep(wait: float) -> None:
        waits.append(wait)
        if len(waits) > 8:
            raise Ended
        clock.now += wait

    async with exporter_parts() as parts:
        explainer = parts.explainer()
        absences = explainer.absences

        def slowly() -> object:
            clock.now += seconds
            return absences()

        explainer.absences = slowly  # type: ignore[method-assign,assignment]
        with pytest.raises(Ended):
            await keep_counting(explainer, show, clock, sleep)
    assert (waits[0], waits[-1]) == (FIRST_SECONDS, expected)


async def test_the_metric_counts_families_of_targets_by_collector_and_cause() -> None:
    async with exporter_parts(collectors={"dns_record_scans": {"enabled": False}}) as parts:
        clock = TurnedClock()
        rounds = 0

        async def sleep(_wait: float) -> None:
            nonlocal rounds
            rounds += 1
            if rounds > 1:
                raise Ended

        with pytest.raises(Ended):
            await keep_counting(parts.explainer(), parts.telemetry.show_absent, clock, sleep)
        await parts.renderer.render()
        disabled = parts.value(
            "edge_exporter_absent_families", collector="dns_record_scans", cause=Cause.COLLECTOR_DISABLED
        )
        assert disabled == 12 * 7
        parts.telemetry.show_absent({})
        await parts.renderer.render()
        assert parts.samples("edge_exporter_absent_families") == {}
