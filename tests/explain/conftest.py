"""Prints how many of the scripted causes the explanation reported."""

import pytest

FAMILIES, MISSES = "scripted families", "misses"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the total over every situation that ran."""
    reports = [
        report for found in terminalreporter.stats.values() for report in found if hasattr(report, "user_properties")
    ]
    properties = [dict(report.user_properties) for report in reports if getattr(report, "when", "") == "call"]
    families, misses = (sum(int(one.get(key, 0)) for one in properties) for key in (FAMILIES, MISSES))
    if families:
        share = (families - misses) / families
        terminalreporter.write_line(
            f"explain: {families - misses} of {families} causes are the scripted ones ({share:.2%})"
        )
