"""The record scans of DNS zones."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from exporter.sandbox.noise import Noise
from exporter.sandbox.resource_ids import ResourceIds
from exporter.sandbox.seed import recorded, seed
from exporter.sandbox.timestamps import iso_of
from exporter.sandbox.world_clock import WorldClock

# The purposes of numbers from `Noise`. The purpose is the first of `parts`, so each purpose has independent numbers.
_PERIOD, _OFFSET, _PENDING, _WORKING, _FAILS, _COUNT, _JOB, _ACCOUNT, _ERROR = range(1, 10)
# The scans of a zone depend on its `ResourceIds.place` modulo this number. The four places below have special scans.
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
    """One scan; its times are in unix seconds."""

    number: int
    created: float
    begins: float
    ends: float
    fails: bool

    def status(self, now: float) -> ScanStatus:
        if now < self.begins:
            return ScanStatus.PENDING
        if now < self.ends:
            return ScanStatus.IN_PROGRESS
        return ScanStatus.FAILED if self.fails else ScanStatus.COMPLETED


class RecordScans:
    """The latest scans of the zones. In a healthy world, only events make a scan fail or disappear.

    The methods raise KeyError for the id of an unknown zone.
    """

    def __init__(self, noise: Noise, clock: WorldClock, zones: ResourceIds, *, healthy: bool) -> None:
        self._healthy = healthy
        self._noise = noise
        self._clock = clock
        self._zones = zones
        self._began_at = clock.now()
        self._zones_made_to_fail: set[int] = set()
        self._zones_without_scan: set[int] = set()

    def fail_scan(self, zone_id: int) -> None:
        """Make the scans of a zone, if it has any, fail until the event scan_released or scan_forgotten."""
        self.release_scan(zone_id)
        self._zones_made_to_fail.add(zone_id)

    def forget_scan(self, zone_id: int) -> None:
        """Remove a zone's scan, as if the zone was never scanned, until the event scan_released or scan_failed."""
        self.release_scan(zone_id)
        self._zones_without_scan.add(zone_id)

    def release_scan(self, zone_id: int) -> None:
        """Let a zone's scans follow their schedule again, after the event scan_failed or scan_forgotten."""
        self._zones_made_to_fail.discard(self._zones.require(zone_id))
        self._zones_without_scan.discard(zone_id)

    def answer(self, zone_id: int) -> dict[str, Any] | None:
        """Return a zone's latest scan as the platform sends it; None if the zone has no scan."""
        now = self._clock.now()
        job = self._latest_job(zone_id, now)
        if job is None or zone_id in self._zones_without_scan:
            return None
        status = ScanStatus.FAILED if zone_id in self._zones_made_to_fail else job.status(now)
        ended_at = min(job.ends, now)  # an event may make a scan fail before its scheduled end
        failed, completed = status is ScanStatus.FAILED, status is ScanStatus.COMPLETED
        rows = recorded("dns_record_scan")
        # Four successive scans find the same number of records.
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
        """Return the latest of a zone's scheduled scans; None for a zone that is never scanned."""
        place = self._zones.place(zone_id) % _VARIETY
        if place == _NEVER and not self._healthy:
            return None
        period = self._noise.between(6 * 3600, 48 * 3600, _PERIOD, zone_id)
        offset = self._noise.between(0, period, _OFFSET, zone_id)
        pending = self._noise.between(20, 60, _PENDING, zone_id)
        working = self._noise.between(60, 300, _WORKING, zone_id)
        if place == _SLOW:
            # When the world begins, and most of the time after that, a scan of this zone is in progress.
            period, offset, pending, working = 1800.0, 120.0, 90.0, 1500.0
        elif place == _FRESH:
            # A scan of this zone is created 5 seconds before the world begins. The zone's scans take three minutes.
            period, offset, pending, working = 3600.0, 5.0, 60.0, 120.0
        number = int((now - self._began_at + offset) // period)
        created = self._began_at - offset + number * period
        fails = not self._healthy and (place == _FAILING or self._noise.chance(0.1, _FAILS, zone_id, number))
        return _Job(number, created, created + pending, created + pending + working, fails)
