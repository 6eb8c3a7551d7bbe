"""Record scans of DNS zones: jobs that are Pending, InProgress, then Completed or Failed, and repeat at intervals."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.noise import Noise
from exporter.sandbox.search import ResourceIds
from exporter.sandbox.seed import seed
from exporter.sandbox.timestamps import iso_long, iso_naive

_PERIOD, _OFFSET, _PENDING, _WORKING, _FAILS, _COUNT, _TYPE, _VALUE = range(1, 9)
_VARIETY: Final = 12
_FAILING, _SLOW, _NEVER, _FRESH = range(1, 5)  # of twelve successive zones, those with special scans
_PROXIABLE: Final = frozenset({0, 1, 2})
_TARGET_TYPES: Final = frozenset({2, 4, 8, 10, 12})


class ScanStatus(IntEnum):
    """The states of a scan job, as the interface numbers them."""

    PENDING = 0
    IN_PROGRESS = 1
    COMPLETED = 2
    FAILED = 3


@dataclass(frozen=True, slots=True)
class _Job:
    """One scan: when it was requested, when it begins and ends, and whether it fails."""

    number: int
    created: float
    begins: float
    ends: float
    fails: bool


class RecordScans:
    """The latest scan of every zone; in a healthy world, none fails by itself and none is missing."""

    def __init__(self, noise: Noise, clock: WorldClock, zones: ResourceIds, *, healthy: bool = False) -> None:
        self._healthy = healthy
        self._noise = noise
        self._clock = clock
        self._zones = zones
        self._opening = clock.now()
        self._started: dict[int, _Job] = {}
        self._forced: dict[int, tuple[ScanStatus | None, _Job]] = {}

    def start_scan(self, zone_id: int, *, fails: bool = False, seconds: float = 120.0) -> None:
        """Start a scan: pending for a quarter of its time, in progress for the rest, then completed or failed."""
        self.release_scan(zone_id)
        now, seconds = self._clock.now(), max(0.0, seconds)
        self._started[zone_id] = _Job(int(now * 1000), now, now + seconds / 4, now + seconds, fails)

    def fail_scan(self, zone_id: int) -> None:
        """Hold a zone's scan in Failed."""
        self._hold(zone_id, ScanStatus.FAILED)

    def forget_scan(self, zone_id: int) -> None:
        """Remove a zone's scan, as if it was never scanned."""
        self._hold(zone_id, None)

    def _hold(self, zone_id: int, status: ScanStatus | None) -> None:
        now = self._clock.now()
        job = self._latest(zone_id, now) or _Job(int(now * 1000), now - 90, now - 60, now, fails=False)
        self._forced[zone_id] = (status, job)

    def release_scan(self, zone_id: int) -> None:
        """End the hold of a zone's scan."""
        self._forced.pop(self._zones.known(zone_id), None)

    def answer(self, zone_id: int) -> dict[str, Any] | None:
        """Return a zone's latest scan as the platform sends it; None if it was never scanned."""
        status, job = self._shown(zone_id)
        if status is None or job is None:
            return None
        now = self._clock.now()
        write = iso_naive if zone_id % 2 else iso_long
        ended = status in (ScanStatus.COMPLETED, ScanStatus.FAILED)
        failed = status is ScanStatus.FAILED
        size = self._noise.whole(4, 24, _COUNT, zone_id, job.number // 4)
        return {
            "JobId": self._noise.guid(zone_id, job.number),
            "ZoneId": zone_id,
            "Domain": self._zones.name(zone_id),
            "AccountId": self._noise.guid(_VALUE),
            "Status": int(status),
            "CreatedAt": write(job.created),
            "CompletedAt": write(min(job.ends, now)) if ended else None,
            "Records": [self._record(zone_id, n) for n in range(size)] if status is ScanStatus.COMPLETED else None,
            "Error": self._noise.choice(seed("scans", "errors"), zone_id, job.number) if failed else None,
        }

    def _shown(self, zone_id: int) -> tuple[ScanStatus | None, _Job | None]:
        """Return the state in which a zone's scan is held, or the state of its latest one."""
        now = self._clock.now()
        job = self._latest(zone_id, now)
        return self._forced.get(zone_id) or (None if job is None else _state(job, now), job)

    def _latest(self, zone_id: int, now: float) -> _Job | None:
        """Return the last scan of those that a test has started and those that come at intervals."""
        noise, started = self._noise, self._started.get(zone_id)
        place = self._zones.place(zone_id) % _VARIETY
        if place == _NEVER and not self._healthy:
            return started
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
        number = int((now - self._opening + offset) // period)
        created = self._opening - offset + number * period
        if started is not None and started.created >= created:
            return started
        fails = not self._healthy and (place == _FAILING or noise.chance(0.1, _FAILS, zone_id, number))
        return _Job(number, created, created + pending, created + pending + working, fails)

    def _record(self, zone_id: int, n: int) -> dict[str, Any]:
        record_type = self._noise.choice(seed("scans", "record_types"), _TYPE, zone_id, n)
        drawn = self._noise.number(_VALUE, zone_id, n)
        ranked = record_type in (4, 8)
        if record_type == 1:
            value = f"2001:db8::{drawn % 65536:x}"
        elif record_type in _TARGET_TYPES:
            value = f"host-{drawn % 100}.{self._zones.name(zone_id)}"
        else:
            value = f"192.0.2.{drawn % 254 + 1}" if record_type in _PROXIABLE else f"value-{drawn % 1000}"
        return {
            "Name": None if n == 0 else f"host-{n}",
            "Type": record_type,
            "Ttl": (300, 3600, 86400, None)[drawn % 4],
            "Value": value,
            "Priority": drawn % 50 if ranked else None,
            "Weight": drawn % 10 if record_type == 8 else None,  # noqa: PLR2004 - SRV
            "Port": 443 if record_type == 8 else None,  # noqa: PLR2004 - SRV
            "IsProxied": (drawn % 3 == 0) if record_type in _PROXIABLE else None,
        }


def _state(job: _Job, now: float) -> ScanStatus:
    if now < job.begins:
        return ScanStatus.PENDING
    if now < job.ends:
        return ScanStatus.IN_PROGRESS
    return ScanStatus.FAILED if job.fails else ScanStatus.COMPLETED
