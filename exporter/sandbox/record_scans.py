"""Record scans of DNS zones: jobs that are repeated, each first pending, then in progress, then completed or failed."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from exporter.sandbox.noise import Noise
from exporter.sandbox.resource_ids import ResourceIds
from exporter.sandbox.seed import recorded, seed
from exporter.sandbox.timestamps import iso_of
from exporter.sandbox.world_clock import WorldClock

# Each number of the noise has one of these as its first part, so that numbers for different uses differ.
_PERIOD, _OFFSET, _PENDING, _WORKING, _FAILS, _COUNT = range(1, 7)
_ACCOUNT: Final = 8  # the same, for the id of the account
# Zones differ by their place among this many successive zones; these places have special scans.
_VARIETY: Final = 12
_FAILING, _SLOW, _NEVER, _FRESH = range(1, 5)


class ScanStatus(IntEnum):
    """The status of a scan, with the numbers of the interface document."""

    PENDING = 0
    IN_PROGRESS = 1
    COMPLETED = 2
    FAILED = 3


@dataclass(frozen=True, slots=True)
class _Job:
    """One scan: its number, its times in unix seconds, and whether it fails."""

    number: int
    created: float
    begins: float
    ends: float
    fails: bool

    def status(self, now: float) -> ScanStatus:
        """Return the status at a time in unix seconds."""
        if now < self.begins:
            return ScanStatus.PENDING
        if now < self.ends:
            return ScanStatus.IN_PROGRESS
        return ScanStatus.FAILED if self.fails else ScanStatus.COMPLETED


class RecordScans:
    """The latest scan of every zone; in a healthy world, every zone has a scan, and none fails without an event."""

    def __init__(self, noise: Noise, clock: WorldClock, zones: ResourceIds, *, healthy: bool) -> None:
        self._healthy = healthy
        self._noise = noise
        self._clock = clock
        self._zones = zones
        self._began_at = clock.now()
        # The zones whose scan was made to fail, and those whose scan was removed.
        self._failed: set[int] = set()
        self._removed: set[int] = set()

    def fail_scan(self, zone_id: int) -> None:
        """Make a zone's scan fail, until the event scan_released."""
        self.release_scan(zone_id)
        self._failed.add(zone_id)

    def forget_scan(self, zone_id: int) -> None:
        """Remove a zone's scan, as if the zone was never scanned, until the event scan_released."""
        self.release_scan(zone_id)
        self._removed.add(zone_id)

    def release_scan(self, zone_id: int) -> None:
        """Let a zone's scan follow its schedule again, after it was made to fail or removed."""
        self._failed.discard(self._zones.require(zone_id))
        self._removed.discard(zone_id)

    def answer(self, zone_id: int) -> dict[str, Any] | None:
        """Return a zone's latest scan as the platform sends it; None if the zone was never scanned."""
        now = self._clock.now()
        job = self._latest(zone_id, now)
        if job is None or zone_id in self._removed:
            return None
        status = ScanStatus.FAILED if zone_id in self._failed else job.status(now)
        failed, completed = status is ScanStatus.FAILED, status is ScanStatus.COMPLETED
        rows = recorded("dns_record_scan")
        # The number of records is the same for four successive scans.
        record_count = self._noise.whole(4, len(rows), _COUNT, zone_id, job.number // 4)
        records = [rows[(zone_id + place) % len(rows)] for place in range(record_count)]
        return {
            "JobId": self._noise.guid(zone_id, job.number),
            "ZoneId": zone_id,
            "Domain": self._zones.name(zone_id),
            "AccountId": self._noise.guid(_ACCOUNT),
            "Status": int(status),
            "CreatedAt": iso_of(zone_id, job.created),
            "CompletedAt": iso_of(zone_id, min(job.ends, now)) if failed or completed else None,
            "Records": records if completed else None,
            "Error": self._noise.choice(seed("scan_errors"), zone_id, job.number) if failed else None,
        }

    def _latest(self, zone_id: int, now: float) -> _Job | None:
        """Return the latest of a zone's scans, which come at regular intervals; None for a zone without scans."""
        noise = self._noise
        place = self._zones.place(zone_id) % _VARIETY
        if place == _NEVER and not self._healthy:
            return None
        period = noise.between(6 * 3600, 48 * 3600, _PERIOD, zone_id)
        offset = noise.between(0, period, _OFFSET, zone_id)
        pending = noise.between(20, 60, _PENDING, zone_id)
        working = noise.between(60, 300, _WORKING, zone_id)
        if place == _SLOW:
            # This scan is in progress when the world begins, and most of the time.
            period, offset, pending, working = 1800.0, 120.0, 90.0, 1500.0
        elif place == _FRESH:
            # This scan starts when the world begins, and passes through its states in three minutes.
            period, offset, pending, working = 3600.0, 5.0, 60.0, 120.0
        number = int((now - self._began_at + offset) // period)
        created = self._began_at - offset + number * period
        fails = not self._healthy and (place == _FAILING or noise.chance(0.1, _FAILS, zone_id, number))
        return _Job(number, created, created + pending, created + pending + working, fails)
