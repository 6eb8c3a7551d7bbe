"""Finds counters of configured endpoints that count something else than before, by what the state knows of them."""

from collections import Counter
from collections.abc import Iterator, Sequence

from exporter.collectors.collector import TargetCollector
from exporter.commands.check.results import AccountResult
from exporter.counters.rows import facts_key, unpack_facts
from exporter.counters.storage import StorageError
from exporter.metric import differing
from exporter.settings.model import Settings
from exporter.validation.faults import KeyPath
from exporter.wiring import from_settings, state_storage


def changed_counters(settings: Settings, verdicts: Sequence[AccountResult]) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path of each changed counter of the targets that were tried, and a message.

    A state that cannot be read has no changes; the daemon reports such a state.
    """
    stored = state_storage.recorded(settings.state)
    if stored is None:
        return
    collectors = {one.name: one for one in from_settings.collectors(settings) if isinstance(one, TargetCollector)}
    found: Counter[tuple[KeyPath, str, str]] = Counter()
    try:
        for place, endpoint in enumerate(settings.endpoints):
            tried = [one.target for verdict in verdicts for one in verdict.tried if one.collector == endpoint.name]
            for target in tried:
                row = stored.read(facts_key(target.polled_by(endpoint.name)))
                sights = {} if row is None else unpack_facts(row.data)
                for number, metric in enumerate(collectors[endpoint.name].metrics):
                    sight, now = sights.get(metric.name), metric.declared(target.account)
                    if sight is not None and now and sight.declared != now:
                        path: KeyPath = ("endpoints", place, "metrics", number, "name")
                        found[path, metric.name, differing(sight.declared, now)] += 1
    except StorageError:
        return
    finally:
        stored.close()
    for (path, name, parts), targets in found.items():
        yield (
            path,
            (
                f"'{name}' counts something else than before ({parts}): "
                f"{targets} of its targets will continue from their values with a new baseline"
            ),
        )
