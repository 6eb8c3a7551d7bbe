"""Assigns the configured monthly budgets to scripts, and keeps a budget when its script is renamed."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from exporter.clock import Clocks
from exporter.counters.ledger import Entry, Ledger
from exporter.counters.storage import Stored
from exporter.log import logger
from exporter.targets.registry import Change, Registry
from exporter.targets.target import PollKey, Target
from exporter.telemetry import Telemetry

# A script's name comes with its first poll, and can change with any poll.
SHOWN_EVERY_SECONDS = 10.0
# Rows of the state file that hold, as the name of a script, the name that its budget is configured for.
BUDGET_ROWS = "script_budget"

# account and script id, or account and configured name
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which script has which budget.

    Attributes:
        dollars: a script → what it may cost in a month.
        matched: account and configured name → whether it belongs to a script, for accounts whose scripts are known.
        bound: account and script id → configured name, for the names that were newly bound to an id.
    """

    dollars: Mapping[Target, float]
    matched: Mapping[Key, bool]
    bound: Mapping[Key, str]


class ScriptBudgets:
    """Binds the names of configured budgets to the ids of scripts.

    A name belongs to the script that has it as its name or id. Where no script has it any more, it belongs to the
    script that had it last.

    Args:
        bound: account and script id → configured name, as an earlier run left it.
    """

    def __init__(self, bound: Mapping[Key, str]) -> None:
        self._bound = dict(bound)

    def remember(self, bound: Mapping[Key, str]) -> None:
        """Take over what another exporter has bound; see the class."""
        self._bound |= bound

    def assign(
        self, scripts: Iterable[Target], configured: Mapping[str, Mapping[str, float]], known: Collection[str]
    ) -> Assignment:
        """Assign budgets to the scripts that are polled.

        Args:
            scripts: the scripts.
            configured: account → a script's name or id → dollars a month.
            known: accounts whose scripts are all known, so that a name without a script can be reported.
        """
        owners: dict[Key, Target] = {}
        former: dict[Key, Target] = {}
        for script in scripts:
            wanted = configured.get(script.account, {})
            owners |= {(script.account, word): script for word in (script.id, script.name) if word in wanted}
            name = self._bound.get((script.account, script.id))
            if name is not None and name in wanted:
                former[script.account, name] = script
        found = {**former, **owners}
        bound = {
            (account, script.id): word
            for (account, word), script in owners.items()
            if word == script.name and self._bound.get((account, script.id)) != word
        }
        self._bound |= bound
        # Where both its id and its name are configured, the name decides: it comes last.
        by_id_first = sorted(found.items(), key=lambda item: item[0][1] != item[1].id)
        return Assignment(
            dollars={script: configured[account][word] for (account, word), script in by_id_first},
            matched={
                (account, word): (account, word) in found
                for account, words in configured.items()
                if account in known
                for word in words
            },
            bound=bound,
        )


@dataclass(frozen=True, slots=True)
class ConfiguredBudgets:
    """The budgets of an account's scripts, as configured.

    Attributes:
        dollars: a script's name or id → dollars a month.
        discover: whether scripts are polled that the configuration does not name.
    """

    dollars: Mapping[str, float]
    discover: bool


class BudgetMetrics:
    """Serves the assigned budgets as metrics, remembers their names in the ledger, and logs names without a script.

    Args:
        telemetry: where they are served.
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
        self._listed: set[str] = set()
        self._budgets = ScriptBudgets({})
        self.remember(ledger.remembered())

    def remember(self, rows: Mapping[PollKey, Stored]) -> None:
        """Take over names that the ledger remembers of an earlier run, or of another exporter."""
        names = {key: row.name for key, row in list(rows.items()) if key.collector == BUDGET_ROWS}
        self._budgets.remember({(key.target.account, key.target.id): name for key, name in names.items()})

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
        """Assign budgets anew and serve them; see `ScriptBudgets.assign`."""
        scripts = list(self._registry.targets("script"))
        found = self._budgets.assign(
            scripts, {account: budgets.dollars for account, budgets in self.configured.items()}, self._known(scripts)
        )
        self._telemetry.script_budget.clear()
        for script, dollars in found.dollars.items():
            self._telemetry.script_budget.labels(script.account, script.id, script.name).set(dollars)
        self._telemetry.script_budget_unmatched.clear()
        for (account, name), is_matched in found.matched.items():
            self._telemetry.script_budget_unmatched.labels(account, name).set(not is_matched)
        now = self._clocks.utc()
        for (account, script_id), name in found.bound.items():
            entry = Entry(PollKey.of(BUDGET_ROWS, account, "script", script_id), name, now.timestamp(), (), now)
            self._ledger.record(entry, lambda _: None)
        is_alone = self._registry.share.total == 1
        unmatched = tuple(key for key, is_matched in found.matched.items() if not is_matched and is_alone)
        for account, name in set(unmatched) - set(self.unmatched):
            self._log.warning("monthly budget belongs to no script", account=account, script=name)
        self.unmatched = unmatched

    def _known(self, scripts: Iterable[Target]) -> set[str]:
        """Return the accounts of which all scripts are known: listed completely, or each named by the configuration."""
        unnamed = {script.account for script in scripts if not script.name}
        return {
            account
            for account, budgets in self.configured.items()
            if account not in unnamed and (account in self._listed or not budgets.discover)
        }
