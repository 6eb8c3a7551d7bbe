"""A process that counts until it is killed: `python -m tests.counters.killed STATE TRUTH`.

STATE is the folder of a state file, or the address of a state database.

TRUTH is a file with the number of queries that the platform has served; it is mapped into memory, so that it survives
the process. Each served value is printed on a line of standard output.
"""

import asyncio
import mmap
import struct
import sys
import time
from pathlib import Path

from exporter.counters.ledger import Ledger
from tests.counters.ledger_driver import LedgerEvents, poll_of, today
from tests.counters.state_locations import DatabaseLocation, FileLocation, StateLocation

ZONES = ("101", "102", "103")
# The next life waits for its end.
SHORT_LEASE = 1.5
MOST_WAITING = 12
NUMBER = struct.Struct("=q")


def location_of(state: str) -> FileLocation | DatabaseLocation:
    """Return the storage that an argument names."""
    return DatabaseLocation(state, SHORT_LEASE) if "://" in state else FileLocation(Path(state))


async def main(location: StateLocation, truth: Path) -> None:
    """Poll three zones as fast as the ledger commits."""
    with truth.open("r+b") as file:
        numbers = mmap.mmap(file.fileno(), NUMBER.size)
    ledger = Ledger(location.storage(time.time, lambda _at: None), LedgerEvents(), linger=0.001)
    while not ledger.open(may_wait=True):
        time.sleep(0.05)  # noqa: ASYNC251 - nothing else runs yet

    async def poll(zone: str, count: int) -> None:
        for family in (await ledger.record(poll_of(zone, today(count)))).counters:
            sys.stdout.write(f"{zone} {int(family.samples[0].value)}\n")
            sys.stdout.flush()

    polls: set[asyncio.Task[None]] = set()
    while True:
        (count,) = NUMBER.unpack(numbers[:])
        numbers[:] = NUMBER.pack(count + 1)
        polls |= {asyncio.create_task(poll(zone, count + 1)) for zone in ZONES}
        if len(polls) >= MOST_WAITING:
            _, polls = await asyncio.wait(polls, return_when=asyncio.FIRST_COMPLETED)


if __name__ == "__main__":
    asyncio.run(main(location_of(sys.argv[1]), Path(sys.argv[2])))
