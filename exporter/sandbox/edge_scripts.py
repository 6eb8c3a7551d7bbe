"""The edge scripts of the account, with their costs."""

import math
from collections import defaultdict
from typing import Any, Final, NamedTuple

from exporter.sandbox.keys import DEPLOYMENT_KEY_PREFIX
from exporter.sandbox.noise import Noise
from exporter.sandbox.resource_ids import ResourceIds
from exporter.sandbox.seed import recorded, seed
from exporter.sandbox.timestamps import DAY, iso_long, iso_of, month_start
from exporter.sandbox.world_clock import WorldClock

FIRST_SCRIPT_ID: Final = 7
# The purposes of numbers from `Noise`. The purpose is the first of `parts`, so each purpose has independent numbers.
_RATE, _CPU, _MODIFIED = range(1, 4)
_DOLLARS_A_REQUEST: Final = 0.20 / 1_000_000
_DOLLARS_A_CPU_MS: Final = 0.02 / 1_000_000


class Month(NamedTuple):
    """Values of a script for a month: cost in dollars, requests, CPU time in milliseconds."""

    cost: float
    requests: int
    cpu_ms: float


class Scripts:
    """The account's edge scripts.

    `rename_script`, `set_month`, `month_to_date` and `answer` raise KeyError for the id of an unknown script.
    """

    def __init__(self, noise: Noise, clock: WorldClock, count: int) -> None:
        self.scripts = ResourceIds(FIRST_SCRIPT_ID, count, seed("names", "scripts"))
        self._noise = noise
        self._clock = clock
        self._began_at = clock.now()
        # Script id → the fields that replace recorded fields.
        self._changed: defaultdict[int, dict[str, Any]] = defaultdict(dict)
        # Script id and beginning of a month in unix seconds → what `set_month` has added to the values of that month.
        self._additions: dict[tuple[int, float], Month] = {}
        self._secrets: list[tuple[int, str]] = []  # the id of the script, and the name of the secret

    def add_script(self, name: str, script_id: int | None = None) -> int:
        """Add a script and return its id."""
        new_id = self.scripts.add(name, script_id)
        self._changed[new_id] = {"Deleted": False}  # one of the recorded scripts is deleted
        return new_id

    def rename_script(self, script_id: int, name: str) -> None:
        """Rename a script."""
        self.scripts.rename(script_id, name)
        self._change(script_id)

    def set_month(
        self, script_id: int, *, cost: float | None = None, requests: int | None = None, cpu_ms: float | None = None
    ) -> None:
        """Set values of a script's month to date; later requests add to them."""
        month, natural = self.month_to_date(script_id), self._natural_month(script_id)
        self._additions[script_id, month_start(self._clock.now())] = Month(
            cost=(month.cost if cost is None else cost) - natural.cost,
            requests=(month.requests if requests is None else requests) - natural.requests,
            cpu_ms=(month.cpu_ms if cpu_ms is None else cpu_ms) - natural.cpu_ms,
        )

    def month_to_date(self, script_id: int) -> Month:
        """Return a script's values of the month to date."""
        natural = self._natural_month(script_id)
        addition = self._additions.get((script_id, month_start(self._clock.now())), Month(0, 0, 0))
        # `set_month` accepts negative values, and the clock can be set back.
        return Month(
            cost=max(0.0, natural.cost + addition.cost),
            requests=max(0, natural.requests + addition.requests),
            cpu_ms=max(0.0, natural.cpu_ms + addition.cpu_ms),
        )

    def update(self, script_id: int, name: str | None, script_type: int | None) -> None:
        """Set the name and the type of a script; None keeps the old one. A new value also changes `LastModified`."""
        if name is not None and name != self.scripts.name(script_id):
            self.rename_script(script_id, name)
        if script_type is not None and script_type != self._row(script_id)["ScriptType"]:
            self._change(script_id, ScriptType=script_type)

    def has_secret(self, script_id: int, name: str) -> bool:
        """Return whether a script has a secret of this name."""
        return (script_id, name) in self._secrets

    def add_secret(self, script_id: int, name: str) -> dict[str, Any]:
        """Add a secret to a script, and return the secret as the platform sends it."""
        self._secrets.append((script_id, name))
        return {"Id": len(self._secrets), "Name": name, "LastModified": iso_long(self._clock.now())}

    def answer(self, script_id: int) -> dict[str, Any]:
        """Return a script as the platform sends it."""
        name = self.scripts.name(script_id)
        row = self._row(script_id)
        month = self.month_to_date(script_id)
        return {
            **row,
            "Id": script_id,
            "Name": name,
            "DefaultHostname": f"{name}.scripts.example" if row["DefaultHostname"] else None,
            "SystemHostname": f"{name}-{script_id}.system.example",
            "DeploymentKey": f"{DEPLOYMENT_KEY_PREFIX}{script_id}",
            "MonthlyCost": month.cost,
            "MonthlyRequestCount": month.requests,
            "MonthlyCpuTime": month.cpu_ms,
        }

    def _row(self, script_id: int) -> dict[str, Any]:
        rows = recorded("edge_script")
        recorded_fields = rows[self.scripts.place(script_id) % len(rows)]
        modified_at = self._began_at - self._noise.between(1, 90, _MODIFIED, script_id) * DAY
        return {**recorded_fields, "LastModified": iso_of(script_id, modified_at), **self._changed.get(script_id, {})}

    def _change(self, script_id: int, **fields: object) -> None:
        self._changed[script_id] |= {**fields, "LastModified": iso_of(script_id, self._clock.now())}

    def _natural_month(self, script_id: int) -> Month:
        """Return the values of the month to date as they would be without `set_month`."""
        now = self._clock.now()
        passed = now - month_start(now)
        # The integral of 1 + 0.5 * sin(2 pi * part of the day): it rises faster before noon than after noon.
        weighted_seconds = passed + 0.5 * DAY / (2 * math.pi) * (1 - math.cos(2 * math.pi * passed / DAY))
        requests_a_second = 0.0 if self._row(script_id)["Deleted"] else self._noise.between(5, 80, _RATE, script_id)
        requests = int(requests_a_second * weighted_seconds)
        cpu_ms = round(requests * self._noise.between(1.5, 12, _CPU, script_id), 3)
        return Month(round(requests * _DOLLARS_A_REQUEST + cpu_ms * _DOLLARS_A_CPU_MS, 8), requests, cpu_ms)
