import json
import re

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from exporter.collectors.catalogue import CATALOGUE, families
from exporter.collectors.collector import Collector
from exporter.exposition.exposition import Format
from exporter.metric import Kind
from exporter.platform.api.operations import OPERATIONS
from tests.collectors.polls import EXPOSITIONS, context_of, exposed
from tests.collectors.targets import TARGETS, collectors
from tests.golden import assert_golden
from tests.platform.callers import ScriptedCaller
from tests.platform.payloads import GOOD


async def good(collector: Collector, form: Format = Format.TEXT) -> str:
    """Return the exposition of a collector's good answer."""
    bodies = {name: json.dumps(body).encode() for name, body in GOOD.items()}
    target = TARGETS[collector.polls]
    context = context_of(ScriptedCaller(bodies), target, {("cdn", "9"): "shop"})
    polled = await collector.poll(context, target)
    for outcome in polled.outcomes:
        own = collector.families_of(outcome.target.kind, outcome.target.id)
        assert {family.info for family in outcome.families} <= set(own)
    return exposed(collector, polled, form=form)


def test_each_collector_and_each_family_stands_once() -> None:
    names = [collector.name for collector in CATALOGUE]
    assert len(names) == len(set(names))
    infos = list(families())
    assert [info.name for info in infos] == list(dict.fromkeys(info.name for info in infos))
    assert [info for collector in CATALOGUE for info in collector.families if info not in infos] == []


def test_polls_ask_for_every_operation_that_reads_and_for_no_other() -> None:
    asked = [operation for collector in collectors() for operation in collector.operations]
    assert {one.name for one in OPERATIONS if one in asked} == {one.name for one in OPERATIONS if not one.writes}
    assert [operation.name for operation in asked if operation not in OPERATIONS] == []


def test_families_are_named_and_described_by_the_conventions() -> None:
    for info in families():
        assert re.fullmatch(r"edge_[a-z0-9]+(_[a-z0-9]+)*", info.name)
        assert (info.kind is Kind.COUNTER) == info.name.endswith("_total"), info.name
        for unit in {"seconds", "dollars", info.unit} - {""}:
            assert (info.unit == unit) == info.name.removesuffix("_total").endswith(f"_{unit}"), info.name
        assert re.fullmatch(r"[A-Z].*[^.]\.", info.help)
        assert "polled" in info.help
        assert len(info.labels) == len(set(info.labels)), info.name
        assert info.labels[0] == ("database" if info.name.startswith("edge_database_") else "account")


async def test_every_family_is_exposed_by_a_good_answer_of_each_operation() -> None:
    text = "".join([await good(collector, Format.OPENMETRICS) for collector in collectors()])
    read = text_string_to_metric_families(text + "# EOF\n")  # type: ignore[no-untyped-call]
    parsed = {family.name: family for family in read}
    declared = {info.name.removesuffix("_total"): info for info in families(collectors())}
    assert set(parsed) == set(declared), "the answers in tests/platform/payloads/ do not hold what these read"
    for name, info in declared.items():
        family = parsed[name]
        assert (family.type, family.unit, family.documentation) == (info.kind.value, info.unit, info.help)
        assert {tuple(sorted(sample.labels)) for sample in family.samples} == {tuple(sorted(info.labels))}


@pytest.mark.parametrize("collector", collectors(), ids=lambda collector: collector.name)
async def test_a_good_answer_gives_the_exposition_of_its_collectors_file(collector: Collector) -> None:
    assert_golden(await good(collector), EXPOSITIONS / f"{collector.name}.prom")
