"""Replicas that share shards by leases list the same targets for probes, before and after a takeover."""

import asyncio
import json
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.counters.process import Exporter
from tests.counters.sandboxed_daemons import sandboxed_daemons
from tests.counters.sharing_processes import SharingProcesses
from tests.postgres import Postgres
from tests.waiting import wait_until

pytestmark = pytest.mark.real
KINDS = {"dns_zone": 3, "script": 1, "shield_zone": 1}


def listed(exporter: Exporter) -> dict[str, list[str]]:
    """Return the addresses of each kind that is known."""
    known = [kind for kind in KINDS if exporter.answers(f"/sd/{kind}")]
    return {kind: [group["targets"][0] for group in json.loads(exporter.text(f"/sd/{kind}"))] for kind in known}


def are_all_listed(exporter: Exporter) -> bool:
    """Return whether every target of each kind is listed."""
    return {kind: len(addresses) for kind, addresses in listed(exporter).items()} == KINDS


async def test_each_replica_lists_all_targets_and_a_takeover_drops_none(tmp_path: Path, postgres: Postgres) -> None:
    async with sandboxed_daemons(tmp_path) as sandboxed:
        sharing = SharingProcesses(sandboxed, tmp_path, postgres.new_database())
        async with (
            sharing.exporter("one", index="lease", total=4) as one,
            sharing.exporter("two", index="lease", total=4) as two,
        ):
            for replica in (one, two):
                await asyncio.to_thread(wait_until, partial(are_all_listed, replica), "all targets")
            before = listed(one)
            assert listed(two) == before
            await asyncio.to_thread(two.end, signal.SIGKILL)
            assert listed(one) == before
