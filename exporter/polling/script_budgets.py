"""Assigns the configured monthly budgets to scripts, and keeps a budget when its script is renamed."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from exporter.clock import Clocks
from exporter.counters.ledger import Entry, Ledger
from exporter.counters.rows import StateRow
from exporter.log import logger
from exporter.targets.registry import Change, Registry
from exporter.targets.target import PollKey, Target
from exporter.telemetry import Telemetry

# A script's name comes with its first poll, and can change with any poll.
SHOWN_EVERY_SECONDS = 10.0
# The collector name of rows in the state that store, instead of a script's name, the configured name of its budget.
BUDGET_ROWS = "script_budget"

# account and script id, or account and configured name
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ConfiguredBudgets:
    """The budgets of an account's scripts, as configured.

    Attributes:
        dollars: a script's name or id → dollars a month.
        discover: whether scripts are polled that the configuration does not name.
    """

    dollars: Mapping[str, float]
    discover: bool


class ScriptBudgets:
    """Assigns the configured budgets to scripts, serves them as metrics, and logs names without a script.

    A name belongs to the script that has it as its name or id. If no script has it any more, it belongs to the script
    that had it last; the ledger remembers which one that was.

    Args:
        telemetry: where budgets are served.
        ledger: where names are remembered; its rows of an earlier run are read.
        registry: the scripts that are polled. A shard does not see the others' scripts: which name has none shows in
            the metric of all shards together, and not in a log.
        clocks: the clocks.

    Attributes:
        configured: the budgets by account.
        unmatched: account and configured name of budgets that belong to no script.
    """

    def __init__(self, telemetry: Telemetry, ledger: Ledger, registry: Registry, clocks: Clocks) -> None:
        self.configured: Mapping[str, ConfiguredBudgets] = {}
        self.unmatched: tuple[Key, ...] = ()
        self._telemetry = telemetry
        self._ledger = ledger
        self._registry = registry
        self._clocks = clocks
        self._log = logger()
        # Accounts whose scripts have been listed completely.
        self._listed: set[str] = set()
        # Account and script id → the configured name that last matched the script.
        self._bound: dict[Key, str] = {}
        self.remember(ledger.remembered())

    def remember(self, rows: Mapping[PollKey, StateRow]) -> None:
        """Take over names that the ledger remembers of an earlier run, or of another exporter."""
        names = {key.target: row.name for key, row in list(rows.items()) if key.collector == BUDGET_ROWS}
        self._bound |= {(script.account, script.id): name for script, name in names.items()}

    def targets_changed(self, change: Change) -> None:
        """Serve the budgets of the scripts that are polled now."""
        self._listed |= {account for account, kind in change.settled if kind == "script"}
        self.show()

    async def keep_showing(self) -> None:
        """Serve the budgets again and again, until it is cancelled."""
        while True:
            await asyncio.sleep(SHOWN_EVERY_SECONDS)
            self.show()

    def show(self) -> None:
        """Assign the budgets again, and serve them."""
        scripts = list(self._registry.targets("script"))
        owners = self._owners(scripts)
        self._telemetry.script_budget.clear()
        # If a script's id and name are both configured, the name has priority, because it is processed last.
        for (account, name), script in sorted(owners.items(), key=lambda item: item[0][1] != item[1].id):
            dollars = self.configured[account].dollars[name]
            self._telemetry.script_budget.labels(account, script.id, script.name).set(dollars)
        for (account, name), script in owners.items():
            if name == script.name and self._bound.get((account, script.id)) != name:
                self._bind(script)
        self._show_matches(owners, self._known(scripts))

    def _owners(self, scripts: Iterable[Target]) -> dict[Key, Target]:
        """Return account and configured name → the script that the budget belongs to."""
        owners: dict[Key, Target] = {}
        former: dict[Key, Target] = {}
        for script in scripts:
            budgets = self.configured.get(script.account)
            wanted = budgets.dollars if budgets is not None else {}
            owners |= {(script.account, word): script for word in (script.id, script.name) if word in wanted}
            name = self._bound.get((script.account, script.id))
            if name is not None and name in wanted:
                former[script.account, name] = script
        return {**former, **owners}

    def _bind(self, script: Target) -> None:
        """Remember that a budget is configured for this script's name."""
        self._bound[script.account, script.id] = script.name
        now = self._clocks.utc()
        key = PollKey.of(BUDGET_ROWS, script.account, "script", script.id)
        self._ledger.note(Entry(key, script.name, now.timestamp(), (), now))

    def _known(self, scripts: Iterable[Target]) -> list[str]:
        """Return the accounts of which all scripts are known: listed completely, or each named by the configuration."""
        unnamed = {script.account for script in scripts if not script.name}
        return [
            account
            for account, budgets in self.configured.items()
            if account not in unnamed and (account in self._listed or not budgets.discover)
        ]

    def _show_matches(self, owners: Collection[Key], known: Iterable[str]) -> None:
        """Serve for each configured name whether it matches a script, and log those that match none."""
        unmatched: list[Key] = []
        self._telemetry.script_budget_unmatched.clear()
        for key in ((account, name) for account in known for name in self.configured[account].dollars):
            self._telemetry.script_budget_unmatched.labels(*key).set(key not in owners)
            if key not in owners and self._registry.share.total == 1:
                unmatched.append(key)
        for account, name in set(unmatched) - set(self.unmatched):
            self._log.warning("monthly budget belongs to no script", account=account, script=name)
        self.unmatched = tuple(unmatched)
