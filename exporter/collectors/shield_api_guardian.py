"""The API guardian of shield zones (interface document, ApiGuardian)."""

from collections.abc import Callable, Mapping

from exporter.collectors.collector import TargetCollector, calling, identity, own_id
from exporter.metric import Metric
from exporter.platform.api import shield
from exporter.platform.api.shield_models import ApiGuardian, GuardianConfiguration, GuardianEndpoint
from exporter.platform.wire import timestamp

_CHECKS: Mapping[str, Callable[[GuardianEndpoint], bool | None]] = {
    "request_schema": lambda endpoint: endpoint.validate_request_body_schema,
    "response_schema": lambda endpoint: endpoint.validate_response_body_schema,
    "authorization": lambda endpoint: endpoint.validate_authorization,
    "xss": lambda endpoint: endpoint.detect_parameter_xss,
    "sqli": lambda endpoint: endpoint.detect_parameter_sqli,
    "rate_limit": lambda endpoint: endpoint.rate_limiting_enabled,
}
# A configuration whose fields are None, used in place of a missing one.
_NO_CONFIGURATION = GuardianConfiguration.model_construct()


def _limits(guardian: ApiGuardian) -> dict[str, int | None]:
    configuration = guardian.configuration or _NO_CONFIGURATION
    return {
        "endpoints": configuration.max_endpoints,
        "fields_per_type": configuration.max_fields_per_type,
        "nesting_depth": configuration.max_nesting_depth,
        "schema_nodes": configuration.max_total_schema_nodes,
        "regex_length": configuration.max_total_regex_length,
    }


def _info(guardian: ApiGuardian) -> dict[tuple[str, ...], int] | None:
    configuration = guardian.configuration
    return None if configuration is None else {(configuration.title or "", configuration.version or ""): 1}


def _endpoints(guardian: ApiGuardian) -> dict[str, int] | None:
    if guardian.endpoints is None:
        return None
    states = [endpoint.is_enabled for endpoint in guardian.endpoints]
    return {"true": states.count(True), "false": states.count(False)}


def _checks(guardian: ApiGuardian) -> dict[str, int] | None:
    if guardian.endpoints is None:
        return None
    enabled = [endpoint for endpoint in guardian.endpoints if endpoint.is_enabled is True]
    return {check: sum(is_on(endpoint) is True for endpoint in enabled) for check, is_on in _CHECKS.items()}


COLLECTOR: TargetCollector[ApiGuardian] = TargetCollector(
    name="shield_api_guardian",
    polls="shield_zone",
    interval=900,
    operations=(shield.API_GUARDIAN,),
    fetch=calling(shield.API_GUARDIAN, shieldZoneId=own_id),
    labels=identity("shield_zone_id"),
    metrics=(
        Metric(
            "edge_shield_api_guardian_enabled",
            "Whether the API guardian is on (configuration.isEnabled), polled.",
            value=lambda guardian: (guardian.configuration or _NO_CONFIGURATION).is_enabled,
        ),
        Metric(
            "edge_shield_api_guardian_info",
            "The guarded API's title and version (configuration), polled.",
            labels=("title", "version"),
            value=_info,
        ),
        Metric(
            "edge_shield_api_guardian_limit",
            "Limits of the API guardian (maxEndpoints, maxFieldsPerType, maxNestingDepth, maxTotalSchemaNodes, "
            "maxTotalRegexLength), polled.",
            labels=("limit",),
            value=_limits,
        ),
        Metric(
            "edge_shield_api_guardian_endpoints",
            "Endpoints that the API guardian knows, enabled or not (endpoints.isEnabled), polled.",
            labels=("enabled",),
            value=_endpoints,
        ),
        Metric(
            "edge_shield_api_guardian_endpoint_checks",
            "Enabled endpoints on which a check is on (endpoints), polled.",
            labels=("check",),
            value=_checks,
        ),
        Metric(
            "edge_shield_api_guardian_updated_timestamp_seconds",
            "When the API guardian's configuration was last changed (configuration.updatedAt), polled.",
            value=lambda guardian: timestamp((guardian.configuration or _NO_CONFIGURATION).updated_at),
        ),
    ),
)
