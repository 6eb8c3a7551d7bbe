"""Defines queries for the Overview: which accounts answer, what fails now, and which alerts fire."""

from dashboards.generator.intervals import OWN_METRICS
from dashboards.generator.page import Query
from dashboards.generator.promql import ACCOUNT, age, count, gauge, highest, lowest, own_rate, series, top, total
from dashboards.generator.queries import findings
from dashboards.generator.queries.truth import SILENT, known, old, staleness

TABLE_ROWS = 100
ACCOUNT_ROWS = 50
TARGET = ("account", "collector", "target", "name")

# An account is down if one shard is refused.
_UP = lowest(series("edge_up", ACCOUNT), "account")
_TARGET_UP = gauge("edge_target_up", ACCOUNT)
# Databases belong to no account.
_OF_ACCOUNTS = gauge("edge_target_up", ACCOUNT, 'account!=""')
_SINCE_SUCCESS = age("edge_target_last_success_timestamp_seconds", ACCOUNT)
_FAILING = f"({_TARGET_UP} == 0)"
# Each shard has a share of the account's budget and of its demand, so both are summed. The capacity is the lower of two
# limits: calls a second, or calls at once while the platform is slow.
_CAPACITY = total(f"min without (limit) ({series('edge_api_capacity_requests_per_second', ACCOUNT)})", "account")
_DEMAND = total(series("edge_api_demand_requests_per_second", ACCOUNT), "account")
_WAF = gauge("edge_shield_zone_waf_enabled", ACCOUNT)
_LIMITS = gauge("edge_shield_rate_limit_window_breaches_overall", ACCOUNT)
_ZONES = gauge("edge_dns_window_queries", ACCOUNT)
# Only scripts with a budget can exceed it.
_SCRIPTS = gauge("edge_script_monthly_budget_dollars", ACCOUNT)
_DATABASES = gauge("edge_target_up", ACCOUNT, 'collector=~"database|database_queries"')

_A_FAILURE = "a target's poll fails"

_BUILD = series("edge_exporter_build_info")
_LATELY = f"last_over_time({_BUILD}[1d])"
_DOWN = f"sum({series('up')} == bool 0 and on (job, instance) {_LATELY})"

EXPORTERS_DOWN = Query(known(_DOWN, SILENT), "exporters")
ACCOUNTS_DOWN = Query(known(total(f"{_UP} == bool 0"), SILENT), "accounts")
TARGETS_FAILING = Query(known(total(f"{_TARGET_UP} == bool 0"), SILENT), "targets")
OLDEST = Query(known(highest(staleness()), SILENT), "oldest")
BUDGET_ASKED = Query(known(highest(f"{_DEMAND} / {_CAPACITY}"), SILENT), "of the budget")

ACCOUNT_UP = Query(top(_UP, ACCOUNT_ROWS), "{{account}}")
ACCOUNT_TARGETS = Query(top(count(_OF_ACCOUNTS, "account"), ACCOUNT_ROWS))
ACCOUNT_FAILING = Query(top(total(f"{_OF_ACCOUNTS} == bool 0", "account"), ACCOUNT_ROWS))
ACCOUNT_BUDGET = Query(top(f"{_DEMAND} / {_CAPACITY}", ACCOUNT_ROWS))
ACCOUNT_REQUESTS = Query(top(total(own_rate("edge_api_requests_total", ACCOUNT), "account"), ACCOUNT_ROWS))
ACCOUNT_FAILURES = Query(top(total(own_rate("edge_api_request_failures_total", ACCOUNT), "account"), ACCOUNT_ROWS))
ACCOUNT_RESOURCES = Query(top(total(gauge("edge_resources", ACCOUNT), "account"), ACCOUNT_ROWS))

# A target without a successful poll has no age; its value is -1.
FAILING = Query(
    highest(
        top(
            f"(({_SINCE_SUCCESS} and on (account, collector, target) {_FAILING})"
            f" or on (account, collector, target) {_FAILING} - 1)",
            TABLE_ROWS,
        ),
        *TARGET,
    ),
    quiet=_A_FAILURE,
)
FAILURES_BY_REASON = Query(
    # These counters begin at 0 with the process; series of events that never happened are left out.
    f"{total(own_rate('edge_api_request_failures_total', ACCOUNT), 'reason')} > 0",
    "{{reason}}",
    quiet="a platform call fails",
)
# Other pages show these for selected zones or databases, this page for whole accounts.
SCANS_FAILED = Query(
    known(total(gauge("edge_dns_record_scan_status", ACCOUNT, 'status="failed"')), SILENT, old("dns_record_scans")),
    "failed",
    step=OWN_METRICS,
)
WAF_OFF = Query(
    known(f"count({findings.waf_off()}) or 0 * count({_WAF})", SILENT, old("shield_zones")), "zones", step=OWN_METRICS
)
LIMITS_IN_BURST = Query(
    known(f"count({findings.bursts()}) or 0 * count({_LIMITS})", SILENT, old("shield_rate_limits")), "rate limits"
)
ZONES_FALLEN = Query(
    known(f"count({findings.FALLEN}) or 0 * count({_ZONES})", SILENT, old("dns_statistics")), "zones", step=OWN_METRICS
)
SCRIPTS_OVER = Query(
    known(f"count({findings.OVER_BUDGET}) or 0 * count({_SCRIPTS})", SILENT, old("scripts")),
    "scripts",
    step=OWN_METRICS,
)
TAGS_MISSING = Query(
    known(total(f"{gauge('edge_container_image_tag_present', ACCOUNT)} == bool 0"), SILENT, old("container_tags")),
    "tags",
    step=OWN_METRICS,
)
DATABASES_FAILING = Query(
    known(
        f"count(({gauge('edge_database_up')} == 0 or {findings.QUERIES_UP} == 0)) or 0 * count({_DATABASES})",
        SILENT,
        old("database"),
    ),
    "databases and queries",
)
# By account, because a slow platform may affect only some accounts.
CALL_DURATION = Query(
    f"topk(10, {total(own_rate('edge_api_request_duration_seconds_sum', ACCOUNT), 'account')}"
    f" / {total(own_rate('edge_api_request_duration_seconds_count', ACCOUNT), 'account')})",
    "{{account}}",
)
