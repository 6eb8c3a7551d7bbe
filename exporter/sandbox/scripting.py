"""Edge scripts: their settings, their secrets, and their costs of the current month."""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.keys import DEPLOYMENT_KEY_PREFIX
from exporter.sandbox.noise import Noise
from exporter.sandbox.search import ResourceIds
from exporter.sandbox.seed import recorded, seed
from exporter.sandbox.timestamps import DAY, iso_long, iso_naive, month_start

FIRST_SCRIPT_ID: Final = 7
_RATE, _CPU, _MODIFIED = range(1, 4)
_DOLLARS_A_REQUEST: Final = 0.20 / 1_000_000
_DOLLARS_A_CPU_MS: Final = 0.02 / 1_000_000


class Month(NamedTuple):
    """A script's values of the month to date."""

    cost: float
    requests: int
    cpu_ms: float


@dataclass(slots=True)
class _Changes:
    """The changes to a script, by a test or by writes through the interface."""

    growth: float = 1.0
    script_type: int | None = None
    modified: float | None = None
    deleted: bool | None = None
    fixed: tuple[float, Month, Month] | None = None
    secrets: set[str] = field(default_factory=set)


class Scripts:
    """The account's edge scripts."""

    def __init__(self, noise: Noise, clock: WorldClock, count: int) -> None:
        self.scripts = ResourceIds(FIRST_SCRIPT_ID, count, seed("names", "scripts"))
        self._noise = noise
        self._clock = clock
        self._opening = clock.now()
        self._changes: defaultdict[int, _Changes] = defaultdict(_Changes)
        self._last_secret = 0

    def add_script(self, name: str, script_id: int | None = None, *, growth: float = 1.0) -> int:
        """Add a script and return its id; with `growth=0` its month stays at zero until its values are set."""
        new_id = self.scripts.add(name, script_id)
        self._changes[new_id] = _Changes(growth=growth, deleted=False)
        return new_id

    def remove_script(self, script_id: int) -> None:
        """Remove a script."""
        self.scripts.remove(script_id)
        self._changes.pop(script_id, None)

    def rename_script(self, script_id: int, name: str) -> None:
        """Give a script another name."""
        self.scripts.rename(script_id, name)
        self._change(script_id).modified = self._clock.now()

    def set_deleted(self, script_id: int, *, deleted: bool = True) -> None:
        """Flag a script as deleted, or not."""
        self._change(script_id).deleted = deleted

    def set_month(
        self, script_id: int, *, cost: float | None = None, requests: int | None = None, cpu_ms: float | None = None
    ) -> None:
        """Set a script's values of the current month; they grow on from there until the month ends."""
        before = self.true_month(script_id)
        given: dict[str, Any] = {"cost": cost, "requests": requests, "cpu_ms": cpu_ms}
        wanted = before._replace(**{key: value for key, value in given.items() if value is not None})
        now = self._clock.now()
        self._change(script_id).fixed = (now, wanted, self._natural(script_id, now))

    def true_month(self, script_id: int) -> Month:
        """Return a script's true values of the month to date."""
        now = self._clock.now()
        natural = self._natural(script_id, now)
        fixed = self._changed(script_id).fixed
        if fixed is None or month_start(fixed[0]) != month_start(now):
            return natural
        _, wanted, then = fixed
        return Month(
            max(0.0, wanted.cost + (natural.cost - then.cost)),
            max(0, wanted.requests + natural.requests - then.requests),
            max(0.0, wanted.cpu_ms + (natural.cpu_ms - then.cpu_ms)),
        )

    def is_deleted(self, script_id: int) -> bool:
        """Return whether a script has the flag Deleted."""
        deleted = self._changed(script_id).deleted
        return bool(self._row(script_id)["Deleted"]) if deleted is None else deleted

    def update(self, script_id: int, name: str | None, script_type: int | None) -> dict[str, Any]:
        """Change the given settings of a script, and return it."""
        if name is not None and name != self.scripts.name(script_id):
            self.rename_script(script_id, name)
        if script_type is not None and script_type != self._script_type(script_id):
            changes = self._change(script_id)
            changes.script_type, changes.modified = script_type, self._clock.now()
        return self.answer(script_id)

    def add_secret(self, script_id: int, name: str) -> dict[str, Any] | None:
        """Add a secret's name, and return its record; None if the name exists. The value is not kept."""
        secrets = self._change(script_id).secrets
        if name in secrets:
            return None
        secrets.add(name)
        self._last_secret += 1
        return {"Id": self._last_secret, "Name": name, "LastModified": iso_long(self._clock.now())}

    def answer(self, script_id: int) -> dict[str, Any]:
        """Return a script as the platform sends it."""
        name = self.scripts.name(script_id)
        row = self._row(script_id)
        month = self.true_month(script_id)
        changes = self._changed(script_id)
        modified = changes.modified
        if modified is None:
            modified = self._opening - self._noise.between(1, 90, _MODIFIED, script_id) * DAY
        write = iso_naive if script_id % 2 == 0 else iso_long
        return {
            **row,
            "Id": script_id,
            "Name": name,
            "LastModified": write(modified),
            "ScriptType": self._script_type(script_id),
            "Deleted": self.is_deleted(script_id),
            "DefaultHostname": row["DefaultHostname"] and f"{name}.scripts.example",
            "SystemHostname": f"{name}-{script_id}.system.example",
            "DeploymentKey": f"{DEPLOYMENT_KEY_PREFIX}{script_id}",
            "MonthlyCost": month.cost,
            "MonthlyRequestCount": month.requests,
            "MonthlyCpuTime": month.cpu_ms,
        }

    def _row(self, script_id: int) -> dict[str, Any]:
        """Return the recorded script whose constant fields a script has: of four, one is bare and one is deleted."""
        rows: list[dict[str, Any]] = recorded("edge_script")
        return rows[self.scripts.place(script_id) % len(rows)]

    def _script_type(self, script_id: int) -> int:
        script_type = self._changed(script_id).script_type
        return int(self._row(script_id)["ScriptType"]) if script_type is None else script_type

    def _natural(self, script_id: int, now: float) -> Month:
        growth = 0.0 if self.is_deleted(script_id) else self._changed(script_id).growth
        passed = now - month_start(now)
        # The integral of 1 + 0.5 sin: it always rises, faster by day than by night.
        busy = passed + 0.5 * DAY / (2 * math.pi) * (1 - math.cos(2 * math.pi * passed / DAY))
        a_second = self._noise.between(5, 80, _RATE, script_id) * growth
        requests = int(a_second * busy)
        cpu_ms = round(requests * self._noise.between(1.5, 12, _CPU, script_id), 3)
        return Month(round(requests * _DOLLARS_A_REQUEST + cpu_ms * _DOLLARS_A_CPU_MS, 8), requests, cpu_ms)

    def _changed(self, script_id: int) -> _Changes:
        return self._changes.get(script_id) or _Changes()

    def _change(self, script_id: int) -> _Changes:
        return self._changes[self.scripts.known(script_id)]
