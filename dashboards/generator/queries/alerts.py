"""Defines queries for alerts of the shipped rules: all of them, and those that Alertmanager does not inhibit.

The shipped configuration of Alertmanager inhibits alerts that follow from another one. The same inhibit rules are
applied here, so that inhibited alerts are the last rows of the table.
"""

from collections.abc import Mapping
from pathlib import Path

import yaml

from dashboards.generator.colours import Colour, Word
from dashboards.generator.page import Annotation, Query
from dashboards.generator.queries.figures import RULES
from dashboards.generator.queries.subject import about

_CONFIG = Path(__file__).parents[3] / "deploy" / "alertmanager" / "alertmanager.yml"
_NAMES = ('alertname=~"Edge.+"', 'alertname!="EdgeWatchdog"', 'account=~"$account"')
_FIRING = 'alertstate="firing"'
_AN_ALERT = "an alert of the shipped rules is pending or fires"


def _alerts(*matchers: str, family: str = "ALERTS") -> str:
    return f"{family}{{{', '.join((*_NAMES, *matchers))}}}"


def _inhibited(rule: Mapping[str, list[str]]) -> str:
    cause = ", ".join((*rule["source_matchers"], _FIRING))
    return f"{_alerts(*rule['target_matchers'])} and on ({', '.join(rule['equal'])}) ALERTS{{{cause}}}"


_FOLLOWING = " or ".join(_inhibited(rule) for rule in yaml.safe_load(_CONFIG.read_text())["inhibit_rules"])
# The state of each alert as a number, by which the table is sorted. The first part that has an alert decides.
_RANKED = " or ".join(
    (
        f"5 * ({_FOLLOWING})",
        "40 * " + _alerts(_FIRING, 'severity="critical"'),
        "30 * " + _alerts(_FIRING, 'severity="warning"'),
        "20 * " + _alerts(_FIRING, 'severity=~"info|none"'),
        # An organisation may rename severities: an unknown one ranks above the warnings.
        "35 * " + _alerts(_FIRING),
        "10 * " + _alerts('alertstate="pending"'),
    )
)

STATES = (
    Word("40", "firing", Colour.BAD),
    Word("35", "firing", Colour.BAD),
    Word("30", "firing", Colour.WARN),
    Word("20", "firing", Colour.INFO),
    Word("10", "pending", Colour.QUIET),
    Word("5", "follows", Colour.QUIET),
)

# Without a firing alert, the result is 0 only if the rules are evaluated; otherwise there is no result.
FIRING = Query(f"count({_alerts(_FIRING)} unless ({_FOLLOWING})) or 0 * group({RULES})", "alerts")
ALERTS = Query(about(_RANKED), quiet=_AN_ALERT)
SINCE = Query(about(f"time() - {_alerts(family='ALERTS_FOR_STATE')}"), quiet=_AN_ALERT)
CRITICAL = Annotation(
    name="Critical alerts",
    query=Query("max by (alertname) (" + _alerts(_FIRING, 'severity="critical"') + ")", quiet=_AN_ALERT),
    title="{{alertname}}",
    text="{{alertname}} fired.",
    colour="red",
)
