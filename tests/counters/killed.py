"""A process that counts until it is killed: `python -m tests.counters.killed STATE TRUTH`.

TRUTH is a file that holds how many queries the platform has served, mapped into memory, so that it outlives the
process. What is served goes to standard output, a line each.
"""

import mmap
import struct
import sys
import threading
from pathlib import Path

from exporter.counters.ledger import Ledger, Publish
from exporter.metric import Family
from tests.counters.book import Heard, poll_of, today

ZONES = ("101", "102", "103")
NUMBER = struct.Struct("=q")


def main(state: Path, truth: Path) -> None:
    """Poll three zones as fast as the ledger publishes."""
    with truth.open("r+b") as file:
        numbers = mmap.mmap(file.fileno(), NUMBER.size)
    ledger = Ledger(state, Heard(), linger=0.001)
    ledger.open()
    room = threading.Semaphore(12)

    def note(zone: str) -> Publish:
        def publish(families: tuple[Family, ...]) -> None:
            for family in families:
                sys.stdout.write(f"{zone} {int(family.samples[0].value)}\n")
                sys.stdout.flush()
            room.release()

        return publish

    while True:
        (count,) = NUMBER.unpack(numbers[:])
        numbers[:] = NUMBER.pack(count + 1)
        for zone in ZONES:
            room.acquire()
            ledger.record(poll_of(zone, today(count + 1)), note(zone))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
