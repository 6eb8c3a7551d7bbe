"""The wire models of shield resources (interface document, Resources and their fields)."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, ValidationInfo, model_validator

from exporter.platform.api.charts import bucket_time
from exporter.platform.wire import (
    CamelWire,
    Counted,
    Each,
    Envelope,
    Identity,
    Integer,
    Moment,
    NonNegative,
    Wire,
    enum_of,
)

PLAN: Mapping[int, str] = {0: "basic", 1: "advanced", 2: "business", 3: "enterprise"}
EXECUTION_MODE: Mapping[int, str] = {0: "log", 1: "block"}
DDOS_SENSITIVITY: Mapping[int, str] = {0: "off", 1: "low", 2: "medium", 3: "high", 4: "challenge"}
BODY_LIMIT_ACTION: Mapping[int, str] = {0: "block", 1: "log", 2: "ignore"}
BOT_SENSITIVITY: Mapping[int, str] = {0: "off", 1: "low", 2: "medium", 3: "high"}
BOT_AGGRESSION: Mapping[int, str] = {0: "unknown", 1: "low", 2: "medium", 3: "high", 4: "custom"}
BOT_EXECUTION_MODE: Mapping[int, str] = {0: "log_only", 1: "challenge"}
BOT_CATEGORY: Mapping[int, str] = {
    0: "none", 1: "seo", 2: "ai_scraper", 3: "ai_tool", 4: "tool", 5: "ads", 6: "preview", 7: "social", 255: "system",
}  # fmt: skip
BOT_ACTION: Mapping[int, str] = {0: "none", 1: "block", 2: "allow"}


class WafEngineSetting(CamelWire):
    """One setting of the WAF engine."""

    name: str | None = None
    value_encoded: str | None = None


class ShieldZone(CamelWire):
    """An item of the shield-zone list."""

    shield_zone_id: Identity
    pull_zone_id: Integer = None
    learning_mode: bool | None = None
    learning_mode_until: Moment = None
    waf_enabled: bool | None = None
    waf_execution_mode: Annotated[Integer, enum_of("wafExecutionMode", EXECUTION_MODE)] = None
    waf_disabled_rules: list[str] | None = None
    waf_log_only_rules: list[str] | None = None
    waf_custom_rule_order: list[int] | None = None
    waf_request_header_logging_enabled: bool | None = None
    request_body_logging_enabled: bool | None = None
    waf_request_ignored_headers: list[str] | None = None
    waf_realtime_threat_intelligence_enabled: bool | None = None
    waf_profile_id: Integer = None
    waf_engine_config: list[WafEngineSetting] | None = None
    waf_request_body_limit_action: Annotated[Integer, enum_of("wafRequestBodyLimitAction", BODY_LIMIT_ACTION)] = None
    waf_response_body_limit_action: Annotated[Integer, enum_of("wafResponseBodyLimitAction", BODY_LIMIT_ACTION)] = None
    rate_limit_rules_limit: Integer = None
    custom_waf_rules_limit: Integer = None
    plan_type: Annotated[Integer, enum_of("planType", PLAN)] = None
    ddos_shield_sensitivity: Annotated[
        Integer, Field(alias="dDoSShieldSensitivity"), enum_of("dDoSShieldSensitivity", DDOS_SENSITIVITY)
    ] = None
    ddos_execution_mode: Annotated[
        Integer, Field(alias="dDoSExecutionMode"), enum_of("dDoSExecutionMode", EXECUTION_MODE)
    ] = None
    ddos_challenge_window: Integer = Field(None, alias="dDoSChallengeWindow")
    whitelabel_response_pages: bool | None = None


class Page(CamelWire):
    """The position of a page in the list of shield zones, and the size of the list."""

    total_count: Integer = None
    total_pages: Integer = None
    current_page: Integer = None
    next_page: Integer = None
    page_size: Integer = None


class ShieldZonePage(Envelope[list[Each[ShieldZone]]]):
    """One page of the shield-zone list; an invalid item does not make the page invalid."""

    page: Page | None = None

    def is_missing(self) -> bool:
        """Return whether the list is missing. No list is needed if `page` says that the account has no zones."""
        has_no_zones = self.page is not None and self.page.total_count == 0
        return self.data is None and not has_no_zones

    def payload(self) -> "ShieldZonePage":
        """Return the whole answer, because `page` is needed to request the next page."""
        return self


class BreachCounts(CamelWire):
    """Numbers of breaches by action."""

    total_breaches: NonNegative = None
    logged_breaches: NonNegative = None
    challenged_breaches: NonNegative = None
    blocked_breaches: NonNegative = None


class RateLimitMetrics(CamelWire):
    """Breaches of one rate limit: the sums of 28 days, and the breaches of single days, by action or as one number."""

    ratelimit_id: Integer = None
    overview: BreachCounts | None = None
    days: dict[str, BreachCounts | Counted | None] | None = Field(None, alias="ratelimitOverviewPastTwentyEightDays")

    @model_validator(mode="after")
    def _report_unreadable_keys(self, info: ValidationInfo) -> Self:
        if info.context is not None and any(bucket_time(key) is None for key in self.days or ()):
            info.context.add("ratelimitOverviewPastTwentyEightDays")
        return self


class AccessListConfiguration(CamelWire):
    """The answer of the access-list switch."""

    is_enabled: bool | None = None


class CustomAccessList(CamelWire):
    """A custom access list."""

    id: Integer = None
    name: str | None = None
    description: str | None = None
    content: str | None = None
    checksum: str | None = None
    entry_count: Integer = None
    last_modified: Moment = None


class GuardianConfiguration(CamelWire):
    """The API guardian's configuration and limits."""

    shield_zone_id: Integer = None
    is_enabled: bool | None = None
    title: str | None = None
    version: str | None = None
    max_endpoints: Integer = None
    max_fields_per_type: Integer = None
    max_nesting_depth: Integer = None
    max_total_schema_nodes: Integer = None
    max_total_regex_length: Integer = None
    created_at: Moment = None
    updated_at: Moment = None


class AuthScheme(CamelWire):
    """How requests to a guarded endpoint are authenticated."""

    scheme_name: str | None = None
    credential_name: str | None = None
    http_scheme: str | None = None


class ParameterNames(Wire):
    """The names of the parameters in the path, query, headers and cookies of a request."""

    path: list[str] | None = Field(None, alias="Path")
    query: list[str] | None = Field(None, alias="Query")
    header: list[str] | None = Field(None, alias="Header")
    cookie: list[str] | None = Field(None, alias="Cookie")


class GuardianEndpoint(CamelWire):
    """An endpoint that the API guardian knows."""

    api_guardian_endpoint_id: Integer = None
    shield_zone_id: Integer = None
    request_method: str | None = None
    request_path: str | None = None
    validate_request_body_schema: bool | None = None
    validate_response_body_schema: bool | None = None
    validate_authorization: bool | None = None
    is_enabled: bool | None = None
    auth_schemes: list[AuthScheme] | None = None
    request_body_schema_yaml: str | None = None
    response_body_schemas_yaml: dict[str, Any] | None = None
    available_parameters: ParameterNames | None = None
    injection_detection_parameters: ParameterNames | None = None
    detect_parameter_xss: bool | None = None
    detect_parameter_sqli: bool | None = None
    rate_limiting_enabled: bool | None = None
    rate_limiting_request_count: Integer = None
    created_at: Moment = None
    updated_at: Moment = None


class ApiGuardian(CamelWire):
    """The API guardian of a shield zone."""

    configuration: GuardianConfiguration | None = None
    endpoints: list[GuardianEndpoint] | None = None


class BotSignal(CamelWire):
    """The settings of one of the signals that bot detection uses."""

    sensitivity: Annotated[Integer, enum_of("sensitivity", BOT_SENSITIVITY)] = None
    aggression: Annotated[Integer, enum_of("browserFingerprint.aggression", BOT_AGGRESSION)] = None
    complex_enabled: bool | None = None


class BotDetectionConfiguration(CamelWire):
    """Bot detection of a shield zone."""

    request_integrity: BotSignal | None = None
    ip_address: BotSignal | None = None
    browser_fingerprint: BotSignal | None = None
    execution_mode: Annotated[Integer, enum_of("executionMode", BOT_EXECUTION_MODE)] = None
    shield_zone_id: Integer = None


class BotCategoryAction(CamelWire):
    """The action for a category of bots."""

    category: Annotated[Integer, enum_of("category", BOT_CATEGORY)] = None
    action: Annotated[Integer, enum_of("action", BOT_ACTION)] = None


class Condition(CamelWire):
    """A condition of a custom WAF rule."""

    variable_types: dict[str, str | None] | None = None
    value: str | None = None
    is_negated: bool | None = None
    is_regex_variable: bool | None = None


class RuleConfiguration(Condition):
    """The first condition of a custom WAF rule, and the conditions that are chained to it."""

    transformation_types: list[Any] | None = None
    chained_rule_conditions: list[Condition] | None = None


class CustomWafRule(CamelWire):
    """A custom WAF rule, which the platform returns without an envelope."""

    id: Integer = None
    shield_zone_id: Integer = None
    user_id: str | None = None
    rule_name: str | None = None
    rule_description: str | None = None
    rule_json: str | None = None
    rule_configuration: RuleConfiguration | None = None
    error_response: dict[str, Any] | None = None

    def has_error(self) -> bool:
        """Return whether there is an error object; the platform may send it together with a rule whose ids are 0."""
        return self.error_response is not None


class GroupedRule(CamelWire):
    """A rule of a rule group."""

    rule_id: str | None = None
    description: str | None = None


class RuleGroup(CamelWire):
    """A group of rules of a rule set."""

    id: Integer = None
    name: str | None = None
    code: str | None = None
    file_name: str | None = None
    main_group: str | None = None
    ruleset: str | None = None
    description: str | None = None
    rules: list[GroupedRule] | None = None


class RuleSet(CamelWire):
    """A rule set of a plan."""

    name: str | None = None
    ruleset: str | None = None
    rule_groups: list[RuleGroup] | None = None


class PlanSegment(CamelWire):
    """The rules that come with a plan."""

    plan_value: Integer = None
    plan_name: str | None = None
    rules: list[RuleSet] | None = None
