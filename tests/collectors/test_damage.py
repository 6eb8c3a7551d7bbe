"""Any answer of a platform leads to families that can be exposed and counted, or to a typed error."""

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from exporter.collectors.collector import Collector, PollResult
from exporter.exposition.exposition import Format
from exporter.platform.errors import PlatformError
from tests.collectors.polls import context_of, exposed
from tests.collectors.targets import TARGETS, collectors
from tests.platform.callers import ScriptedCaller
from tests.platform.damage import damaged


async def polled(collector: Collector, bodies: dict[str, bytes]) -> PollResult | None:
    """Return the outcome of a poll; None if it ended in a typed error."""
    target = TARGETS[collector.polls]
    try:
        return await collector.poll(context_of(ScriptedCaller(bodies), target), target)
    except PlatformError:
        return None


@pytest.mark.parametrize("collector", collectors(), ids=lambda collector: collector.name)
@given(data=st.data())
def test_a_damaged_answer_ends_in_families_or_in_a_typed_error(collector: Collector, data: st.DataObject) -> None:
    bodies = {
        operation.name: data.draw(damaged(operation.name), label=operation.name) for operation in collector.operations
    }
    outcome = asyncio.run(polled(collector, bodies))
    if outcome is None:
        return
    expositions = {form: exposed(collector, outcome, outcome, form=form) for form in Format}
    for family in text_string_to_metric_families(expositions[Format.TEXT]):
        series = [tuple(sorted(sample.labels.items())) for sample in family.samples]
        assert len(series) == len(set(series))
        assert [sample for sample in family.samples if not math.isfinite(sample.value)] == []
        assert [label for labels in series for _, label in labels if len(label) > 1024] == []
