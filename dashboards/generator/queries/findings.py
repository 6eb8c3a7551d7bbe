"""Defines the query for present problems, from the metrics themselves, without alerts and without their delay.

The traffic of a zone is compared with what the shipped rules recorded a day and a week ago; if nothing is recorded of
the day before, with that of the hour before.

Each finding is a query for one kind of problem. Its name and its figure are labels, so that all kinds of findings fit
into one table.
"""

from dataclasses import dataclass

from dashboards.generator.colours import Colour, Word
from dashboards.generator.intervals import OWN_METRICS
from dashboards.generator.page import Query
from dashboards.generator.promql import among, highest, lowest, top, total
from dashboards.generator.queries.figures import SILENT
from dashboards.generator.queries.subject import about
from dashboards.generator.selectors import ACCOUNT, gauge, increase, lately, series

# The most rows of one kind: if there are more, they most often have one cause.
ROWS = 20

# Factors of a zone's usual traffic below and above which it is reported.
_FALL, _SURGE = 0.6, 3
# A burst: breaches in 15 minutes, as a factor of the mean over 28 days, and at least this number.
_BURST, _BREACHES = 5, 10
# Platform calls are slow if their mean duration is above _SLOW_FACTOR times the mean of the hour before; the limit is
# at least _SLOW_FROM and at most _SLOW_ALWAYS seconds.
_SLOW_ALWAYS, _SLOW_FACTOR, _SLOW_FROM = 2, 3, 0.5

_ACT, _LOOK = 2, 1
URGENCIES = (Word(str(_ACT), "act now", Colour.BAD), Word(str(_LOOK), "check", Colour.WARN))

_ZONE = ("account", "zone_id", "domain")
_LIMIT = ("account", "shield_zone_id", "rate_limit_id", "rate_limit")
_SHIELD_ZONE = ("account", "shield_zone_id", "pull_zone")
_IMAGE = ("account", "registry_id", "image_namespace", "image", "tag")


@dataclass(frozen=True, slots=True)
class Finding:
    """A kind of problem.

    Attributes:
        what: the name of the problem.
        area: the area of the platform, as in the alerts.
        urgency: `_ACT` or `_LOOK`.
        expr: a query that finds the problem; its values are the figures.
        labels: the labels that name the subject.
        figure: the text of the figure, in which `$1` is the rounded value; empty for no figure.
        scale: the factor by which a value is multiplied before it is rounded.
    """

    what: str
    area: str
    urgency: int
    expr: str
    labels: tuple[str, ...]
    figure: str = ""
    scale: int = 1

    def query(self) -> str:
        """Return a query for the urgency, with the labels of the subject, `what` and `figure`."""
        shown = top(f"({self.expr})", ROWS)
        if self.figure:
            by = ", ".join(self.labels)
            # `count_values` writes the value into a label.
            shown = f'count_values by ({by}) ("figure", round({self.scale} * {shown}))'
            shown = f'label_replace({shown}, "figure", "{self.figure}", "figure", "(.+)")'
        else:
            shown = highest(shown, *self.labels)
        return f'{self.urgency} + 0 * label_replace({shown}, "what", "{self.what}", "", "")'


def _calls(name: str, *matchers: str, over: str = "15m") -> str:
    return f"sum by (account) (increase({series(name, ACCOUNT, *matchers)}[{over}])) > 0"


def _steady(collector: str, kind: str, label: str, ago: str) -> str:
    """Select the targets whose polls succeed now and did some time ago: the first poll after an outage is no surge.

    `label` is the label for their ids; `ago` is the time, such as `20m`.
    """
    matcher = f'collector="{collector}"'
    now, then = (gauge("edge_target_up", ACCOUNT, matcher, at=at) for at in ("", f" offset {ago}"))
    return highest(
        f'label_replace({now} == 1 and {then} == 1, "{label}", "$1", "target", "{kind}/(.+)")', "account", label
    )


# The pull zone of each shield zone; empty for a zone that is known only by its rate limits.
_PULL_ZONES = (
    f"{highest(gauge('edge_shield_zone_info', ACCOUNT), *_SHIELD_ZONE)} or on (account, shield_zone_id) 1 + 0 *"
    f" {highest(gauge('edge_shield_rate_limit_window_breaches_overall', ACCOUNT), 'account', 'shield_zone_id')}"
)


def _named_zone(expr: str) -> str:
    """Replace the series of shield zones by their info series, which have the names of pull zones."""
    return among(
        highest(gauge("edge_shield_zone_info", ACCOUNT), *_SHIELD_ZONE), f"({expr})", "account", "shield_zone_id"
    )


_REFUSED = 'reason=~"unauthorized|forbidden|credential"'
_REFUSALS = _calls("edge_api_request_failures_total", _REFUSED)
_OTHER_FAILURES = _calls("edge_api_request_failures_total", _REFUSED.replace("=~", "!~"))
# While an account is down for another reason, its key may still lack the right for one collector.
_MOSTLY_REFUSED = f"({_REFUSALS} unless on (account) {_OTHER_FAILURES} > on (account) {_REFUSALS})"
_FAILURES = _calls("edge_api_request_failures_total")
_GOOD = _calls("edge_api_requests_total", 'code=~"2.."', over="3m")
_DOWN = f"({lowest(series('edge_up', ACCOUNT), 'account')} == 0 or ({_FAILURES} unless on (account) {_GOOD}))"

_DURATION, _CALLS = (series(f"edge_api_request_duration_seconds_{part}", ACCOUNT) for part in ("sum", "count"))
_MEAN = f"(sum by (account) (increase({_DURATION}[5m])) / sum by (account) (increase({_CALLS}[5m])))"
_MEAN_BEFORE = (
    f"(sum by (account) (increase({_DURATION}[1h] offset 15m)) / sum by (account) (increase({_CALLS}[1h] offset 15m)))"
)
_SLOW = f"{_MEAN} > clamp({_SLOW_FACTOR} * {_MEAN_BEFORE}, {_SLOW_FROM}, {_SLOW_ALWAYS})"

_QUERIES = "edge_dns_queries_total"
# Recorded by the shipped rules, for yesterday and last week.
_RECORDED = "zone:edge_dns_queries:rate1h"
# The queries of _SPAN seconds are compared, of zones that usually have more than _ENOUGH in that time.
_SPAN, _ENOUGH = 1200, 100
_STEADY_ZONE = _steady("dns_statistics", "dns_zone", "zone_id", "20m")


def _over(length: str, at: str = "") -> str:
    return increase(_QUERIES, ACCOUNT, over=length, at=at)


# Each zone's queries of the last 20 minutes, divided by those of the same time yesterday or, if nothing is recorded of
# yesterday, by a third of those of the hour before.
_YESTERDAY = f"{_SPAN} * {series(_RECORDED, ACCOUNT, at=' offset 1d')}"
_USUAL = f"{_YESTERDAY} or {_over('1h', at=' offset 20m')} / 3"
_AGAINST_PAST = f"({_over('20m')} / (({_USUAL}) > {_ENOUGH}))"


def _unusual(comparison: str, contrary: str, factor: float) -> str:
    """Find the zones whose traffic is below (`<`) or above (`>`) a factor of the usual.

    A zone is left out if its traffic, compared with a week ago, is on the contrary side of the factor.
    """
    last_week = f"{_over('20m')} / ({_SPAN} * {series(_RECORDED, ACCOUNT, at=' offset 1w')})"
    return (
        f"({_AGAINST_PAST} {comparison} {factor} unless on (account, zone_id) {last_week} {contrary} {factor}"
        f" and on (account, zone_id) {_STEADY_ZONE})"
    )


# The rate limits with many times their usual breaches: the mean of 28 days, each of 96 quarters of an hour.
_RECENT_BREACHES = total(increase("edge_shield_rate_limit_breaches_total", ACCOUNT, over="15m"), *_LIMIT)
_USUAL_BREACHES = highest(gauge("edge_shield_rate_limit_window_breaches_overall", ACCOUNT), *_LIMIT)
_BURSTS = (
    f"{_RECENT_BREACHES} > clamp_min({_BURST} * {_USUAL_BREACHES} / (28 * 96), {_BREACHES})"
    f" and on (account, rate_limit_id) {_steady('shield_rate_limits', 'rate_limit', 'rate_limit_id', '15m')}"
)


_ONE_SHIELD = ("job", "account", "shield_zone_id")


def _on_within_a_week(protection: str) -> str:
    recorded = series("shield_zone_protection:edge_shield_zone:on", ACCOUNT, f'protection="{protection}"')
    return f"max_over_time({recorded}[1w])"


# The shield zones whose WAF is off now, and was on within a week by what the rules record, or within the last hour.
_WAF = highest(gauge("edge_shield_zone_waf_enabled", ACCOUNT), *_ONE_SHIELD)
_WAF_OF_HOUR = highest(lately("edge_shield_zone_waf_enabled", ACCOUNT, over="1h"), *_ONE_SHIELD)
_WAF_OF_WEEK = highest(_on_within_a_week("waf"), *_ONE_SHIELD)
_WAF_OFF = f"({_WAF} == 0 and ({_WAF_OF_WEEK} == 1 or {_WAF_OF_HOUR} == 1))"

_MODE = gauge("edge_shield_zone_execution_mode", ACCOUNT, 'mode="log"')
_BLOCKED_LATELY = highest(
    lately("edge_shield_zone_execution_mode", ACCOUNT, 'mode="block"', over="1h"), *_ONE_SHIELD, "engine"
)
_BLOCKED_OF_WEEK = highest(_on_within_a_week("blocking"), *_ONE_SHIELD, "engine")
_TO_LOG = f"({highest(_MODE, *_ONE_SHIELD, 'engine')} == 1 and ({_BLOCKED_OF_WEEK} == 1 or {_BLOCKED_LATELY} == 1))"

_SCAN_FAILED = gauge("edge_dns_record_scan_status", ACCOUNT, 'status="failed"') + " == 1"
_BUDGET = highest(gauge("edge_script_monthly_budget_dollars", ACCOUNT), "account", "script_id")
_OVER_BUDGET = (
    f"{highest(gauge('edge_script_monthly_cost_dollars', ACCOUNT), 'account', 'script_id', 'script')}"
    f" / on (account, script_id) group_left () ({_BUDGET} > 0) > 1"
)
_TAG_MISSING = f"{gauge('edge_container_image_tag_present', ACCOUNT)} == 0"
_QUERIES_UP = gauge("edge_target_up", ACCOUNT, 'collector="database_queries"')
_OTHERS_UP = gauge("edge_target_up", ACCOUNT, 'collector!~"database|database_queries"')
_QUERY_FAILING = (
    f'label_replace(label_replace({_QUERIES_UP} == 0, "database", "$1", "target", "query/(.+)/.+"),'
    ' "query", "$1", "target", "query/.+/(.+)")'
)
_TARGETS_FAILING = f"sum by (account, collector) ({_OTHERS_UP} == bool 0) > 0 unless on (account) {_DOWN}"
_LATELY_HERE = f"last_over_time({series('edge_exporter_build_info')}[1d])"
_EXPORTER_DOWN = f"{series('up')} == 0 and on (job, instance) {_LATELY_HERE}"

_CHANGED = highest(gauge("edge_dns_statistics_changed_timestamp_seconds", ACCOUNT), "account")
# Accounts in which no zone's statistics have changed lately.
_UNCHANGED = f"(time() - {_CHANGED} > {_SPAN})"
# Accounts whose zones had queries at this time yesterday.
_TRAFFIC = f"{highest(series('account:edge_dns_queries:rate1h', ACCOUNT, at=' offset 1d'), 'account')} > 0.1"
_STALLED = f"{_UNCHANGED} and on (account) {_STEADY_ZONE} and on (account) {_TRAFFIC}"
# If the statistics of an account do not change, that is one finding, and not a fall of each zone.
_FALLEN = f"({_unusual('<', '>', _FALL)} unless on (account) {_UNCHANGED})"
_SURGED = _unusual(">", "<", _SURGE)

FINDINGS = (
    Finding("Exporter or shard missing", "exporter", _ACT, SILENT.expr, ()),
    Finding("Exporter down", "exporter", _ACT, _EXPORTER_DOWN, ("instance",)),
    Finding(
        "Key refused",
        "exporter",
        _ACT,
        f"{_MOSTLY_REFUSED} unless on (account) {_GOOD}",
        ("account",),
        "$1 calls in 15 min",
    ),
    Finding(
        "Account gives no good answer",
        "exporter",
        _ACT,
        f"{_DOWN} unless on (account) {_MOSTLY_REFUSED}",
        ("account",),
    ),
    Finding(
        "Some calls refused",
        "exporter",
        _LOOK,
        f"({_REFUSALS}) and on (account) {_GOOD}",
        ("account",),
        "$1 calls in 15 min",
    ),
    Finding("Platform slow", "exporter", _LOOK, _SLOW, ("account",), "$1 ms a call", 1000),
    Finding("Polls fail", "exporter", _LOOK, _TARGETS_FAILING, ("account", "collector"), "$1 targets"),
    Finding("WAF switched off", "shield", _ACT, _named_zone(_WAF_OFF), _SHIELD_ZONE),
    Finding(
        "Only logs, no longer blocks",
        "shield",
        _ACT,
        f"({_TO_LOG}) * on (account, shield_zone_id) group_left (pull_zone)"
        f" {highest(gauge('edge_shield_zone_info', ACCOUNT), *_SHIELD_ZONE)}",
        (*_SHIELD_ZONE, "engine"),
    ),
    Finding(
        "Burst on a rate limit",
        "shield",
        _LOOK,
        f"({_BURSTS}) * on (account, shield_zone_id) group_left (pull_zone) ({_PULL_ZONES})",
        (*_LIMIT, "pull_zone"),
        "$1 in 15 min",
    ),
    Finding("Statistics do not change", "dns", _ACT, _STALLED, ("account",)),
    Finding("Traffic has fallen", "dns", _LOOK, _FALLEN, _ZONE, "$1 % of the usual", 100),
    Finding("Traffic has surged", "dns", _LOOK, _SURGED, _ZONE, "$1 % of the usual", 100),
    Finding("Record scan failed", "dns", _LOOK, _SCAN_FAILED, _ZONE),
    Finding(
        "Script over budget", "scripts", _LOOK, _OVER_BUDGET, ("account", "script_id", "script"), "$1 % of budget", 100
    ),
    Finding("Image tag missing", "containers", _LOOK, _TAG_MISSING, _IMAGE),
    Finding("Database gives no good answer", "database", _ACT, f"{gauge('edge_database_up')} == 0", ("database",)),
    Finding("Database query fails", "database", _LOOK, _QUERY_FAILING, ("database", "query")),
)


def _in_area(area: str) -> str:
    found = " or ".join(finding.query() for finding in FINDINGS if finding.area == area)
    return f'label_replace({found}, "area", "{area}", "", "")'


_AREAS = dict.fromkeys(finding.area for finding in FINDINGS)
_FOUND = " or ".join(map(_in_area, _AREAS))
_LABELS = frozenset(label for finding in FINDINGS for label in finding.labels)
FOUND = Query(about(_FOUND, _LABELS), step=OWN_METRICS, quiet="something is wrong")
