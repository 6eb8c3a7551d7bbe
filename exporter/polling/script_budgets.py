"""Assigns the configured monthly budgets to scripts, and keeps a budget when its script is renamed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from exporter.clock import Clocks
from exporter.counters.ledger import Entry, Ledger
from exporter.counters.rows import StateRow
from exporter.log import logger
from exporter.targets.registry import Registry
from exporter.targets.target import PollKey, Target
from exporter.telemetry import Telemetry

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


@dataclass(slots=True, eq=False)
class ScriptBudgets:
    """Assigns the configured budgets to scripts, serves them as metrics, and logs names without a script.

    A budget belongs to each script that has its name as name or id. If no script has it any more, it belongs to those
    that had it last; the ledger remembers which they were.

    Attributes:
        telemetry: where budgets are served.
        ledger: where names are remembered; its rows of an earlier run are read.
        registry: the scripts that are polled. A shard does not see the others' scripts: which name has none shows in
            the metric of all shards together, and not in a log.
        configured: the budgets by account.
        unmatched: account and configured name of budgets that belong to no script.
    """

    telemetry: Telemetry
    ledger: Ledger
    registry: Registry
    clocks: Clocks
    configured: Mapping[str, ConfiguredBudgets] = field(default_factory=dict)
    unmatched: tuple[Key, ...] = ()
    # Accounts whose scripts have been listed completely.
    _listed: set[str] = field(default_factory=set)
    # Account and script id → the configured name that last matched the script.
    _bound: dict[Key, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.remember(self.ledger.remembered())

    def remember(self, rows: Mapping[PollKey, StateRow]) -> None:
        """Take over names that the ledger remembers of an earlier run, or of another exporter."""
        names = {key.target: row.name for key, row in list(rows.items()) if key.collector == BUDGET_ROWS}
        self._bound |= {(script.account, script.id): name for script, name in names.items()}

    def targets_changed(self) -> None:
        """Serve the budgets of the scripts that are polled now."""
        self._listed |= {account for account in self.configured if self.registry.is_listed_whole(account, "script")}
        self.show()

    def show(self) -> None:
        """Assign the budgets again, serve them, and log the names that match no script."""
        unmatched: list[Key] = []
        scripts = list(self.registry.targets("script"))
        owners = self._owners(scripts)
        self.telemetry.script_budget.clear()
        # If a script's id and name are both configured, the name has priority, because it is processed last.
        pairs = [(key, script) for key, those in owners.items() for script in those]
        for (account, name), script in sorted(pairs, key=lambda pair: pair[0][1] != pair[1].id):
            dollars = self.configured[account].dollars[name]
            self.telemetry.script_budget.labels(account, script.id, script.name).set(dollars)
        for (account, name), script in pairs:
            if name == script.name and self._bound.get((account, script.id)) != name:
                # Remember that a budget is configured for this script's name.
                self._bound[account, script.id] = name
                now, key = self.clocks.utc(), PollKey.of(BUDGET_ROWS, account, "script", script.id)
                self.ledger.note(Entry(key, name, now.timestamp(), (), now))
        unnamed = {script.account for script in scripts if not script.name}
        # Of these accounts all scripts are known: listed completely, or each named by the configuration.
        known = [
            account
            for account, budgets in self.configured.items()
            if account not in unnamed and (account in self._listed or not budgets.discover)
        ]
        self.telemetry.script_budget_unmatched.clear()
        for own in ((account, name) for account in known for name in self.configured[account].dollars):
            self.telemetry.script_budget_unmatched.labels(*own).set(own not in owners)
            if own not in owners and self.registry.shard.total == 1:
                unmatched.append(own)
        for account, name in set(unmatched) - set(self.unmatched):
            logger().warning("monthly budget belongs to no script", account=account, script=name)
        self.unmatched = tuple(unmatched)

    def _owners(self, scripts: Iterable[Target]) -> dict[Key, list[Target]]:
        """Return account and configured name → the scripts that the budget belongs to, as several may have one name."""
        owners: dict[Key, list[Target]] = {}
        former: dict[Key, list[Target]] = {}
        for script in scripts:
            budgets = self.configured.get(script.account)
            wanted = budgets.dollars if budgets is not None else {}
            for word in {script.id, script.name} & wanted.keys():
                owners.setdefault((script.account, word), []).append(script)
            name = self._bound.get((script.account, script.id))
            if name is not None and name in wanted:
                former.setdefault((script.account, name), []).append(script)
        return {**former, **owners}
