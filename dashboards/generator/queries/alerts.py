"""Defines queries for alerts of the shipped rules: all of them, and those that Alertmanager sends.

Alertmanager inhibits alerts that follow from another one: a refused key is one message, not one for each of its
targets. The same rules are applied here, so that the first rows of the table are the messages.
"""

from dataclasses import dataclass

from dashboards.generator.page import Colour, Query, Word
from dashboards.generator.queries.subject import about
from dashboards.generator.queries.truth import NO_RULES, RULES, SILENT, known

_NAMES = ('alertname=~"Edge.+"', 'alertname!="EdgeWatchdog"', 'account=~"$account"')
_AN_ALERT = "an alert of the shipped rules is pending or fires"


@dataclass(frozen=True, slots=True)
class Inhibition:
    """A rule by which alerts inhibit others, as in deploy/alertmanager/alertmanager.yml.

    Attributes:
        cause: a regular expression for the names of the alerts that inhibit others.
        follows: a regular expression for the names of the inhibited alerts.
        equal: the labels that must be equal in both.
        unless: a regular expression for names that are never inhibited.
    """

    cause: str
    follows: str
    equal: tuple[str, ...]
    unless: str = ""


INHIBITIONS = (
    Inhibition("EdgeExporterDown", "Edge.+", ("job", "instance"), "EdgeExporterDown|EdgeWatchdog"),
    Inhibition("EdgeExporterDown", "EdgeShardMissing", ("job",)),
    Inhibition("EdgeCredentialRefused", "EdgeAccountDown", ("job", "account")),
    Inhibition(
        "EdgeAccountDown|EdgeCredentialRefused", "Edge.+", ("job", "account"), "EdgeAccountDown|EdgeCredentialRefused"
    ),
    Inhibition(
        "EdgeCollectorFailing",
        "EdgeTargetFailing|EdgeDatabaseQueryFailing",
        ("job", "account", "collector"),
    ),
    Inhibition("EdgeDatabaseDown", "EdgeDatabaseQueryFailing", ("job", "database")),
)


def _alerts(*matchers: str, of: str = "ALERTS") -> str:
    return f"{of}{{{', '.join((*_NAMES, *matchers))}}}"


def _following(rule: Inhibition) -> str:
    named = (f'alertname=~"{rule.follows}"', *((f'alertname!~"{rule.unless}"',) if rule.unless else ()))
    cause = f'ALERTS{{alertname=~"{rule.cause}", alertstate="firing"}}'
    return f"{_alerts(*named)} and on ({', '.join(rule.equal)}) {cause}"


_FOLLOWING = " or ".join(_following(rule) for rule in INHIBITIONS)
_FIRING = 'alertstate="firing"'
# An organisation may rename severities: an unknown one ranks above the warnings.
_RANKED = " or ".join(
    (
        f"5 * ({_FOLLOWING})",
        *(
            f"{rank} * {_alerts(_FIRING, *severity)}"
            for rank, severity in (
                (40, ('severity="critical"',)),
                (30, ('severity="warning"',)),
                (20, ('severity=~"info|none"',)),
                (35, ()),
            )
        ),
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

SEEN = Query(
    known(
        f"count({_alerts(_FIRING)} unless ({_FOLLOWING})) or 0 * group({RULES})",
        NO_RULES,
        SILENT,
    ),
    "alerts",
)
ALERTS = Query(about(_RANKED), quiet=_AN_ALERT)
SINCE = Query(about(f"time() - {_alerts(of='ALERTS_FOR_STATE')}"), quiet=_AN_ALERT)
CRITICAL = Query("max by (alertname) (" + _alerts(_FIRING, 'severity="critical"') + ")", quiet=_AN_ALERT)
