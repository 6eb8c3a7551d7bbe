"""Overview: which accounts answer, what is failing now, and which alerts fire."""

from dashboards.generator import intervals
from dashboards.generator.intervals import DISCOVERY, TELEMETRY
from dashboards.generator.page import Query
from dashboards.generator.promql import ACCOUNT, age, count, gauge, highest, lowest, own_rate, series, top, total

TABLE_ROWS = 100
ACCOUNT_ROWS = 50
TARGET = ("account", "collector", "target", "name")

# One shard that is refused is trouble enough for an account.
_UP = lowest(series("edge_up", ACCOUNT), "account")
_TARGET_UP = gauge("edge_target_up", ACCOUNT)
# Databases are of no account.
_OF_ACCOUNTS = gauge("edge_target_up", ACCOUNT, 'account!=""')
_SINCE_SUCCESS = age("edge_target_last_success_timestamp_seconds", ACCOUNT)
_FAILING = f"({_TARGET_UP} == 0)"
# Every shard has its share of an account's budget, and asks for its share of the work.
# Of its limits the lower one binds: calls a second, or calls at once while the platform is slow.
_CAPACITY = total(f"min without (limit) ({series('edge_api_capacity_requests_per_second', ACCOUNT)})", "account")
_DEMAND = total(series("edge_api_demand_requests_per_second", ACCOUNT), "account")
# Rules may keep an account's name or sum over it, so what is not of an account is shown too.
_ALERTS = 'ALERTS{alertname=~"Edge.+", account=~"$account"}'
_FIRING = 'ALERTS{alertname=~"Edge.+", alertstate="firing", account=~"$account"}'

_A_FAILURE = "a target's poll fails"
_AN_ALERT = "an alert of the shipped rules is pending or fires"

ACCOUNTS_DOWN = Query(total(f"{_UP} == bool 0"), TELEMETRY, "accounts")
TARGETS = Query(count(_TARGET_UP), TELEMETRY, "targets")
TARGETS_FAILING = Query(total(f"{_TARGET_UP} == bool 0"), TELEMETRY, "targets")
LONGEST_WITHOUT = Query(highest(_SINCE_SUCCESS), TELEMETRY, "longest")
ALERTS_FIRING = Query(f"count({_FIRING}) or vector(0)", TELEMETRY, "alerts")
BUDGET_ASKED = Query(highest(f"{_DEMAND} / {_CAPACITY}"), TELEMETRY, "of the budget")

ACCOUNT_UP = Query(top(_UP, ACCOUNT_ROWS), TELEMETRY, "{{account}}")
ACCOUNT_TARGETS = Query(top(count(_OF_ACCOUNTS, "account"), ACCOUNT_ROWS), TELEMETRY)
ACCOUNT_FAILING = Query(top(total(f"{_OF_ACCOUNTS} == bool 0", "account"), ACCOUNT_ROWS), TELEMETRY)
ACCOUNT_BUDGET = Query(top(f"{_DEMAND} / {_CAPACITY}", ACCOUNT_ROWS), TELEMETRY)
ACCOUNT_REQUESTS = Query(top(total(own_rate("edge_api_requests_total", ACCOUNT), "account"), ACCOUNT_ROWS), TELEMETRY)
ACCOUNT_FAILURES = Query(
    top(total(own_rate("edge_api_request_failures_total", ACCOUNT), "account"), ACCOUNT_ROWS), TELEMETRY
)
ACCOUNT_RESOURCES = Query(top(total(gauge("edge_resources", ACCOUNT), "account"), ACCOUNT_ROWS), DISCOVERY)

# A target that never succeeded has no age; it is told apart by -1.
FAILING = Query(
    highest(
        top(
            f"(({_SINCE_SUCCESS} and on (account, collector, target) {_FAILING})"
            f" or on (account, collector, target) {_FAILING} - 1)",
            TABLE_ROWS,
        ),
        *TARGET,
    ),
    TELEMETRY,
    quiet=_A_FAILURE,
)
FAILING_BY_COLLECTOR = Query(total(f"{_TARGET_UP} == bool 0", "collector"), TELEMETRY, "{{collector}}")
FAILURES_BY_REASON = Query(
    # These counters begin at 0 with the process: what never happened is left out.
    f"{total(own_rate('edge_api_request_failures_total', ACCOUNT), 'reason')} > 0",
    TELEMETRY,
    "{{reason}}",
    quiet="a platform call fails",
)
# What other pages show of a choice of zones or databases, this one shows of whole accounts.
DATABASES = Query(lowest(gauge("edge_database_up"), "database"), intervals.DATABASES, "{{database}}")
SCANS_FAILED = Query(
    total(gauge("edge_dns_record_scan_status", ACCOUNT, 'status="failed"')), intervals.DNS_RECORD_SCANS, "failed"
)
# As EdgeWafSwitchedOff has it: on within the last week, and off now.
_WAF_ON = f"max without (instance, pod) (max_over_time({series('edge_shield_zone_waf_enabled', ACCOUNT)}[1w]))"
WAF_OFF = Query(
    total(f"({gauge('edge_shield_zone_waf_enabled', ACCOUNT)} == bool 0) * {_WAF_ON}"), intervals.SHIELD_ZONES, "zones"
)
ALERTS = Query(
    highest(top(_ALERTS, TABLE_ROWS), "alertname", "alertstate", "severity", "account", "name", "domain", "script"),
    TELEMETRY,
    quiet=_AN_ALERT,
)
ALERTS_BY_SEVERITY = Query(count(_FIRING, "severity"), TELEMETRY, "{{severity}}", quiet=_AN_ALERT)
