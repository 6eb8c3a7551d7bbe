"""Serves the configured monthly budgets of scripts, which belong to scripts by their names or ids."""

from collections.abc import Iterable

from exporter.settings.account import AccountSettings
from exporter.targets.registry import Registry
from exporter.telemetry import Telemetry


def show_budgets(accounts: Iterable[AccountSettings], registry: Registry, telemetry: Telemetry) -> None:
    """Serve the budget of each script that is polled here, and which configured budgets belong to no such script.

    A shard does not see the scripts of others: a budget has no script if that is so in all shards.
    """
    served, unmatched = dict[tuple[str, str, str], float](), dict[tuple[str, str], bool]()
    for account in accounts:
        budgets, matched = account.scripts.monthly_budget_dollars, set[str]()
        scripts = registry.polled(account.name, "script").values()
        for script in scripts:
            # The name is the last one: it has priority over the id.
            for word in (script.id, script.name):
                if word in budgets:
                    matched.add(word)
                    served[account.name, script.id, script.name] = budgets[word]
        # Only where all scripts are known: listed completely, or each named by the configuration.
        if registry.is_known_whole(account.name, "script") and all(script.name for script in scripts):
            unmatched |= {(account.name, word): word not in matched for word in budgets}
    telemetry.show(telemetry.script_budget, served)
    telemetry.show(telemetry.script_budget_unmatched, unmatched)
