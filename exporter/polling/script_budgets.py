"""Assigns the configured monthly budgets to scripts, by their names or ids."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from exporter.log import logger
from exporter.targets.registry import Registry
from exporter.targets.target import Target
from exporter.telemetry import Telemetry


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
    """Serves the budget of each script that has a budget's name as its name or id, and logs names without a script.

    Attributes:
        telemetry: where budgets are served.
        registry: the scripts that are polled. A shard does not see the others' scripts: which name has none shows in
            the metric of all shards together, and not in a log.
        configured: the budgets by account.
        unmatched: account and configured name of budgets that belong to no script.
    """

    telemetry: Telemetry
    registry: Registry
    configured: Mapping[str, ConfiguredBudgets] = field(default_factory=dict)
    unmatched: tuple[tuple[str, str], ...] = ()

    def show(self) -> None:
        """Assign the budgets again, serve them, and log the names that match no script."""
        scripts = list(self.registry.targets("script"))
        matched = self._assign(scripts)
        sees_all_scripts = self.registry.shard.total == 1
        unnamed = {script.account for script in scripts if not script.name}
        self.telemetry.script_budget_unmatched.clear()
        unmatched: list[tuple[str, str]] = []
        for account, budgets in self.configured.items():
            # Only where all scripts are known: listed completely, or each named by the configuration.
            if account in unnamed or (budgets.discover and not self.registry.is_listed_whole(account, "script")):
                continue
            for name in budgets.dollars:
                is_unmatched = (account, name) not in matched
                self.telemetry.script_budget_unmatched.labels(account, name).set(is_unmatched)
                if is_unmatched and sees_all_scripts:
                    unmatched.append((account, name))
        for account, name in set(unmatched) - set(self.unmatched):
            logger().warning("monthly budget belongs to no script", account=account, script=name)
        self.unmatched = tuple(unmatched)

    def _assign(self, scripts: Iterable[Target]) -> set[tuple[str, str]]:
        """Serve the budget of each script; return the account and the configured name of each assigned budget."""
        matched: set[tuple[str, str]] = set()
        self.telemetry.script_budget.clear()
        for script in scripts:
            own = self.configured.get(script.account)
            if own is None:
                continue
            # The name is the last one: it has priority over the id.
            for word in (script.id, script.name):
                if word in own.dollars:
                    matched.add((script.account, word))
                    series = self.telemetry.script_budget.labels(script.account, script.id, script.name)
                    series.set(own.dollars[word])
        return matched
