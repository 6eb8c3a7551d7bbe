"""Formats the findings of `check` as JSON."""

import json
from collections.abc import Iterable
from dataclasses import asdict

from exporter.commands.check import report
from exporter.commands.check.results import AccountResult
from exporter.validation.faults import Fault


def as_json(faults: Iterable[Fault], verdicts: Iterable[AccountResult] = (), warnings: Iterable[str] = ()) -> str:
    """Return the findings: `ok`, the faults of the configuration, the accounts with their results, and the warnings.

    Args:
        faults: the faults of the configuration.
        verdicts: the results of the accounts and databases.
        warnings: settings that expose a credential or select nothing.
    """
    configuration, tried = [asdict(fault) for fault in faults], list(verdicts)
    found = {
        "ok": not configuration and report.faults(tried) == 0,
        "configuration": configuration,
        "polls": report.polls(tried),
        "faults": report.faults(tried),
        "accounts": [
            {
                "name": verdict.name,
                "requests_per_second": verdict.load.demand,
                "budget_requests_per_second": verdict.load.rate,
                "interval_stretch": verdict.load.stretch,
            }
            for verdict in tried
        ],
        "results": [asdict(row) for row in report.rows(tried)] if any(verdict.tried for verdict in tried) else [],
        "warnings": list(warnings),
    }
    return json.dumps(found, indent=2, ensure_ascii=False)
