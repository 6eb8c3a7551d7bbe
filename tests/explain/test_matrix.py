"""Brings about every cause of absences on the sandbox, and compares each family's reported cause with the script."""

from pathlib import Path

import pytest

from exporter.collectors.catalogue import CATALOGUE
from exporter.collectors.causes import Cause
from exporter.targets.sharding import owner
from exporter.wiring.from_settings import scope
from tests.explain.situations import BUILT_IN, CONFIGURED, Situation
from tests.exporter_parts import ExporterParts, exporter_parts

# (collector, target, family) → its cause.
Causes = dict[tuple[str, str, str], Cause]


def scripted(situation: Situation, parts: ExporterParts) -> Causes:
    """Return the causes that a situation expects, by family."""
    collectors = {collector.name: collector for collector in scope(parts.settings).collectors}
    found: Causes = {}
    for (collector, target), causes in situation.absent.items():
        kind, _, target_id = target.partition("/")
        for cause, families in causes.items():
            all_of_them = (info.name for info in collectors[collector].families_of(kind, target_id))
            found |= {(collector, target, family): cause for family in families or all_of_them}
    return found


def named(situation: Situation, parts: ExporterParts) -> tuple[Causes, list[str]]:
    """Return the causes that the explanation reports for the same collectors and targets, and the evidence."""
    found: Causes = {}
    evidence: list[str] = []
    targets = frozenset(target for _, target in situation.absent)
    for absence in parts.absences(targets=targets):
        if (absence.collector, absence.target) not in situation.absent:
            continue
        evidence.append(absence.evidence)
        for family in absence.families:
            key = (absence.collector, absence.target, family)
            assert key not in found, f"{key} has more than one cause"
            found[key] = absence.cause
    return found, evidence


@pytest.mark.parametrize("situation", [*BUILT_IN, *CONFIGURED], ids=lambda situation: situation.name)
async def test_the_named_cause_of_every_family_is_the_scripted_one(
    situation: Situation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "state.db").mkdir()
    async with exporter_parts(**situation.settings) as parts:
        await situation.script(parts)
        wanted = scripted(situation, parts)
        found, evidence = named(situation, parts)
    misses = {key: (wanted.get(key), found.get(key)) for key in wanted.keys() | found.keys()}
    misses = {key: causes for key, causes in misses.items() if causes[0] != causes[1]}
    assert misses == {}
    said = "\n".join(evidence)
    assert [words for words in situation.words if words not in said] == [], said


async def test_a_zone_of_another_shard_is_explained_by_its_name_as_by_its_id() -> None:
    async with exporter_parts(more={"shard": {"index": 0, "total": 3}}) as parts:
        explained = 0
        for zone in map(str, range(101, 113)):
            name = frozenset({parts.world.dns.zones.name(int(zone))})
            by_id = parts.absences(targets=frozenset({f"dns_zone/{zone}"}))
            by_name = parts.absences(targets=name)
            assert [(one.collector, one.cause, one.evidence) for one in by_name] == [
                (one.collector, one.cause, one.evidence) for one in by_id
            ]
            explained += bool(by_name) and {one.cause for one in by_name} == {Cause.OTHER_SHARD}
        assert explained == sum(owner(f"main/dns_zone/{zone}", 3) != 0 for zone in range(101, 113)) > 0


async def test_a_family_that_has_series_is_never_absent_and_one_without_always_is() -> None:
    async with exporter_parts() as parts:
        absent = {(absence.target, family) for absence in parts.absences() for family in absence.families}
        exposed = {
            (key.target.label, family)
            for key, status in parts.store.statuses()
            for family in status.families
            if status.served
        }
        every = {
            (key.target.label, info.name)
            for key, _ in parts.store.statuses()
            for collector in CATALOGUE
            if collector.name == key.collector
            for info in collector.families_of(key.target.kind, key.target.id)
        }
        assert absent & exposed == set()
        assert every - exposed - absent == set()


def test_every_cause_is_scripted() -> None:
    happens = {cause for situation in BUILT_IN for causes in situation.absent.values() for cause in causes}
    assert set(Cause) - happens == set()
