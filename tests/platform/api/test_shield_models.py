"""Literal payloads of shield resources, and their models."""

import json
from datetime import UTC, datetime

from exporter.platform.api import shield
from exporter.platform.wire import Unusable
from tests.platform.readings import data, read

ZONE = """{"shieldZoneId": 3, "pullZoneId": 9, "learningMode": true, "learningModeUntil": "2026-02-20T00:00:00",
  "wafEnabled": true, "wafExecutionMode": 1, "wafDisabledRules": ["941100"], "wafLogOnlyRules": [],
  "wafCustomRuleOrder": [21, 22], "wafRequestHeaderLoggingEnabled": false, "requestBodyLoggingEnabled": true,
  "wafRequestIgnoredHeaders": ["x-ignored"], "wafRealtimeThreatIntelligenceEnabled": false, "wafProfileId": 1,
  "wafEngineConfig": [{"name": "paranoia", "valueEncoded": "Mg=="}], "wafRequestBodyLimitAction": 0,
  "wafResponseBodyLimitAction": 2, "rateLimitRulesLimit": 10, "customWafRulesLimit": 5, "planType": 2,
  "dDoSShieldSensitivity": 3, "dDoSExecutionMode": 1, "dDoSChallengeWindow": 1800, "whitelabelResponsePages": false}"""


def test_a_page_of_shield_zones() -> None:
    page = read(
        shield.ZONES,
        f"""{{"data": [{ZONE}, {{"shieldZoneId": 4}}, {{"shieldZoneId": 5, "wafEnabled": "perhaps"}}],
              "page": {{"totalCount": 3, "totalPages": 1, "currentPage": 1, "nextPage": null, "pageSize": 1000}}}}""",
    )
    first, second, third = page.data
    assert first.model_dump() == {
        "shield_zone_id": 3,
        "pull_zone_id": 9,
        "learning_mode": True,
        "learning_mode_until": datetime(2026, 2, 20, tzinfo=UTC),
        "waf_enabled": True,
        "waf_execution_mode": 1,
        "waf_disabled_rules": ["941100"],
        "waf_log_only_rules": [],
        "waf_custom_rule_order": [21, 22],
        "waf_request_header_logging_enabled": False,
        "request_body_logging_enabled": True,
        "waf_request_ignored_headers": ["x-ignored"],
        "waf_realtime_threat_intelligence_enabled": False,
        "waf_profile_id": 1,
        "waf_engine_config": [{"name": "paranoia", "value_encoded": "Mg=="}],
        "waf_request_body_limit_action": 0,
        "waf_response_body_limit_action": 2,
        "rate_limit_rules_limit": 10,
        "custom_waf_rules_limit": 5,
        "plan_type": 2,
        "ddos_shield_sensitivity": 3,
        "ddos_execution_mode": 1,
        "ddos_challenge_window": 1800,
        "whitelabel_response_pages": False,
    }
    assert second.model_fields_set == {"shield_zone_id"}
    assert isinstance(third, Unusable)
    assert third.identity("shieldZoneId") == 5
    assert page.page.model_dump() == {
        "total_count": 3, "total_pages": 1, "current_page": 1, "next_page": None, "page_size": 1000,
    }  # fmt: skip


def test_rate_limit_metrics() -> None:
    metrics = data(
        shield.RATE_LIMIT,
        """{"overview": {"totalBreaches": 9, "loggedBreaches": 4, "challengedBreaches": 3, "blockedBreaches": 2},
            "ratelimitOverviewPastTwentyEightDays": {
              "08-02-2026": {"totalBreaches": 9, "loggedBreaches": 4, "challengedBreaches": 3, "blockedBreaches": 2},
              "2026-02-07": 5, "06-02-2026": null}}""",
    )
    counts = {"total_breaches": 9, "logged_breaches": 4, "challenged_breaches": 3, "blocked_breaches": 2}
    assert metrics.model_dump() == {
        "ratelimit_id": None,
        "overview": counts,
        "days": {"08-02-2026": counts, "2026-02-07": 5.0, "06-02-2026": None},
    }


def test_every_rate_limit_of_a_zone() -> None:
    limits = data(shield.ZONE_RATE_LIMITS, '[{"ratelimitId": 55, "overview": null}, {"ratelimitId": "x"}]')
    assert [None if isinstance(limit, Unusable) else limit.ratelimit_id for limit in limits] == [55, None]


def test_an_access_list() -> None:
    entries = data(
        shield.ACCESS_LIST,
        """{"id": 11, "name": "office", "description": "d", "content": "192.0.2.1\\n192.0.2.2", "checksum": "ab12",
            "entryCount": 2, "lastModified": "2026-02-06T09:27:36"}""",
    )
    assert entries.model_dump() == {
        "id": 11,
        "name": "office",
        "description": "d",
        "content": "192.0.2.1\n192.0.2.2",
        "checksum": "ab12",
        "entry_count": 2,
        "last_modified": datetime(2026, 2, 6, 9, 27, 36, tzinfo=UTC),
    }


def test_the_api_guardian() -> None:
    guardian = data(
        shield.API_GUARDIAN,
        """{"configuration": {"shieldZoneId": 3, "isEnabled": true, "title": "Shop", "version": "1.4",
              "maxEndpoints": 100, "maxFieldsPerType": 50, "maxNestingDepth": 8, "maxTotalSchemaNodes": 4000,
              "maxTotalRegexLength": 9000, "createdAt": "2026-01-01T00:00:00Z", "updatedAt": null},
            "endpoints": [{"apiGuardianEndpointId": 1, "shieldZoneId": 3, "requestMethod": "GET",
              "requestPath": "/cart/{id}", "validateRequestBodySchema": true, "validateResponseBodySchema": false,
              "validateAuthorization": true, "isEnabled": true,
              "authSchemes": [{"schemeName": "bearer", "credentialName": "Authorization", "httpScheme": "bearer"}],
              "requestBodySchemaYaml": "type: object", "responseBodySchemasYaml": {"200": "type: array"},
              "availableParameters": {"Path": ["id"], "Query": [], "Header": null, "Cookie": []},
              "injectionDetectionParameters": {"Path": ["id"]},
              "detectParameterXss": true, "detectParameterSqli": false, "rateLimitingEnabled": true,
              "rateLimitingRequestCount": 10, "createdAt": "2026-01-01T00:00:00Z",
              "updatedAt": "2026-01-02T00:00:00Z"}]}""",
    )
    assert guardian.configuration.model_dump() == {
        "shield_zone_id": 3,
        "is_enabled": True,
        "title": "Shop",
        "version": "1.4",
        "max_endpoints": 100,
        "max_fields_per_type": 50,
        "max_nesting_depth": 8,
        "max_total_schema_nodes": 4000,
        "max_total_regex_length": 9000,
        "created_at": datetime(2026, 1, 1, tzinfo=UTC),
        "updated_at": None,
    }
    assert [endpoint.model_dump() for endpoint in guardian.endpoints] == [
        {
            "api_guardian_endpoint_id": 1,
            "shield_zone_id": 3,
            "request_method": "GET",
            "request_path": "/cart/{id}",
            "validate_request_body_schema": True,
            "validate_response_body_schema": False,
            "validate_authorization": True,
            "is_enabled": True,
            "auth_schemes": [{"scheme_name": "bearer", "credential_name": "Authorization", "http_scheme": "bearer"}],
            "request_body_schema_yaml": "type: object",
            "response_body_schemas_yaml": {"200": "type: array"},
            "available_parameters": {"path": ["id"], "query": [], "header": None, "cookie": []},
            "injection_detection_parameters": {"path": ["id"], "query": None, "header": None, "cookie": None},
            "detect_parameter_xss": True,
            "detect_parameter_sqli": False,
            "rate_limiting_enabled": True,
            "rate_limiting_request_count": 10,
            "created_at": datetime(2026, 1, 1, tzinfo=UTC),
            "updated_at": datetime(2026, 1, 2, tzinfo=UTC),
        }
    ]


def test_bot_detection() -> None:
    bots = data(
        shield.BOT_DETECTION,
        """{"requestIntegrity": {"sensitivity": 1}, "ipAddress": {"sensitivity": null},
            "browserFingerprint": {"sensitivity": 3, "aggression": 2, "complexEnabled": true},
            "executionMode": 1, "shieldZoneId": 3}""",
    )
    assert bots.model_dump() == {
        "request_integrity": {"sensitivity": 1, "aggression": None, "complex_enabled": None},
        "ip_address": {"sensitivity": None, "aggression": None, "complex_enabled": None},
        "browser_fingerprint": {"sensitivity": 3, "aggression": 2, "complex_enabled": True},
        "execution_mode": 1,
        "shield_zone_id": 3,
    }


def test_a_custom_rule() -> None:
    variables = ("REQUEST_URI", "ARGS_COMBINED_SIZE", "GEO", "FINGERPRINT", "VERIFIED_BOT_CATEGORY")
    types = json.dumps(dict.fromkeys(variables, ""))
    rule = read(
        shield.CUSTOM_RULE,
        f"""{{"id": 21, "shieldZoneId": 3, "userId": "u-1", "ruleName": "login", "ruleDescription": "d",
              "ruleJson": "{{}}",
              "ruleConfiguration": {{"variableTypes": {types}, "transformationTypes": [1, 8], "value": "x",
                "isNegated": false, "isRegexVariable": true,
                "chainedRuleConditions": [{{"variableTypes": {{"ARGS": "a"}}, "value": "y", "isNegated": true,
                  "isRegexVariable": false}}]}},
              "errorResponse": null}}""",
    )
    assert rule.model_dump() == {
        "id": 21,
        "shield_zone_id": 3,
        "user_id": "u-1",
        "rule_name": "login",
        "rule_description": "d",
        "rule_json": "{}",
        "rule_configuration": {
            "variable_types": dict.fromkeys(variables, ""),
            "transformation_types": [1, 8],
            "value": "x",
            "is_negated": False,
            "is_regex_variable": True,
            "chained_rule_conditions": [
                {"variable_types": {"ARGS": "a"}, "value": "y", "is_negated": True, "is_regex_variable": False}
            ],
        },
        "error_response": None,
    }


def test_the_plan_segmentation() -> None:
    plans = data(
        shield.PLAN_SEGMENTATION,
        """[{"planValue": 0, "planName": "Basic", "rules": [{"name": "Core", "ruleset": "OWASP", "ruleGroups": [
              {"id": 1, "name": "XSS", "code": "941", "fileName": "f.conf", "mainGroup": "m", "ruleset": "OWASP",
               "description": "d", "rules": [{"ruleId": "941100", "description": "r"}]}]}]}]""",
    )
    assert [plan.model_dump() for plan in plans] == [
        {
            "plan_value": 0,
            "plan_name": "Basic",
            "rules": [
                {
                    "name": "Core",
                    "ruleset": "OWASP",
                    "rule_groups": [
                        {
                            "id": 1,
                            "name": "XSS",
                            "code": "941",
                            "file_name": "f.conf",
                            "main_group": "m",
                            "ruleset": "OWASP",
                            "description": "d",
                            "rules": [{"rule_id": "941100", "description": "r"}],
                        }
                    ],
                }
            ],
        }
    ]


def test_the_writes_of_shield() -> None:
    assert data(shield.SET_BOT_ACTION, '{"category": 2, "action": 1}').model_dump() == {"category": 2, "action": 1}
    assert data(shield.SWITCH_ACCESS_LIST, '{"isEnabled": true}').model_dump() == {"is_enabled": True}
