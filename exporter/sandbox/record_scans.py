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
_PERIOD, _OFFSET, _PENDING, _WORKING, _FAILS, _COUNT, _JOB, _ACCOUNT, _ERROR = range(1, 10)
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
        self._zones_made_to_fail: set[int] = set()
        self._zones_without_scan: set[int] = set()

    def fail_scan(self, zone_id: int) -> None:
        """Make a zone's scan fail, until the event scan_released; a zone that was never scanned still has none."""
        self.release_scan(zone_id)
        self._zones_made_to_fail.add(zone_id)

    def forget_scan(self, zone_id: int) -> None:
        """Remove a zone's scan, as if the zone was never scanned, until the event scan_released."""
        self.release_scan(zone_id)
        self._zones_without_scan.add(zone_id)

    def release_scan(self, zone_id: int) -> None:
        """Let a zone's scan follow its schedule again, after it was made to fail or removed."""
        self._zones_made_to_fail.discard(self._zones.require(zone_id))
        self._zones_without_scan.discard(zone_id)

    def answer(self, zone_id: int) -> dict[str, Any] | None:
        """Return a zone's latest scan as the platform sends it; None if the zone was never scanned."""
        now = self._clock.now()
        job = self._latest_job(zone_id, now)
        if job is None or zone_id in self._zones_without_scan:
            return None
        status = ScanStatus.FAILED if zone_id in self._zones_made_to_fail else job.status(now)
        ended_at = min(job.ends, now)  # an event may make a scan fail before its regular end
        failed, completed = status is ScanStatus.FAILED, status is ScanStatus.COMPLETED
        rows = recorded("dns_record_scan")
        # The number of records is the same for four successive scans.
        record_count = self._noise.whole(4, len(rows), _COUNT, zone_id, job.number // 4)
        records = [rows[(zone_id + place) % len(rows)] for place in range(record_count)]
        return {
            "JobId": self._noise.guid(_JOB, zone_id, job.number),
            "ZoneId": zone_id,
            "Domain": self._zones.name(zone_id),
            "AccountId": self._noise.guid(_ACCOUNT),
            "Status": int(status),
            "CreatedAt": iso_of(zone_id, job.created),
            "CompletedAt": iso_of(zone_id, ended_at) if failed or completed else None,
            "Records": records if completed else None,
            "Error": self._noise.choice(seed("scan_errors"), _ERROR, zone_id, job.number) if failed else None,
        }

    def _latest_job(self, zone_id: int, now: float) -> _Job | None:
        """Return the latest of a zone's scans, which come at regular intervals; None for a zone without scans."""
        place = self._zones.place(zone_id) % _VARIETY
        if place == _NEVER and not self._healthy:
            return None
        period = self._noise.between(6 * 3600, 48 * 3600, _PERIOD, zone_id)
        offset = self._noise.between(0, period, _OFFSET, zone_id)
        pending = self._noise.between(20, 60, _PENDING, zone_id)
        working = self._noise.between(60, 300, _WORKING, zone_id)
        if place == _SLOW:
            # This scan is in progress when the world begins, and most of the time.
            period, offset, pending, working = 1800.0, 120.0, 90.0, 1500.0
        elif place == _FRESH:
            # This scan starts when the world begins, and passes through its states in three minutes.
            period, offset, pending, working = 3600.0, 5.0, 60.0, 120.0
        number = int((now - self._began_at + offset) // period)
        created = self._began_at - offset + number * period
        fails = not self._healthy and (place == _FAILING or self._noise.chance(0.1, _FAILS, zone_id, number))
        return _Job(number, created, created + pending, created + pending + working, fails)
