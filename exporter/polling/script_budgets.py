"""Assigns the configured monthly budgets to scripts, by their names or ids."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.log import logger
from exporter.targets.registry import Registry
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
        scripts, matched = list(self.registry.targets("script")), set[tuple[str, str]]()
        self.telemetry.script_budget.clear()
        for script in scripts:
            own = self.configured.get(script.account)
            # The name has priority over the id.
            for word in (script.id, script.name):
                if own is not None and word in own.dollars:
                    matched.add((script.account, word))
                    series = self.telemetry.script_budget.labels(script.account, script.id, script.name)
                    series.set(own.dollars[word])
        unnamed = {script.account for script in scripts if not script.name}
        self.telemetry.script_budget_unmatched.clear()
        unmatched: list[tuple[str, str]] = []
        for account, budgets in self.configured.items():
            # All scripts are known: listed completely, or each named by the configuration.
            if account in unnamed or (budgets.discover and not self.registry.is_listed_whole(account, "script")):
                continue
            for pair in ((account, name) for name in budgets.dollars):
                self.telemetry.script_budget_unmatched.labels(*pair).set(pair not in matched)
                if pair not in matched and self.registry.shard.total == 1:
                    unmatched.append(pair)
        for account, name in set(unmatched) - set(self.unmatched):
            logger().warning("monthly budget belongs to no script", account=account, script=name)
        self.unmatched = tuple(unmatched)
