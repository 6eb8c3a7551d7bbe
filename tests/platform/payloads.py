"""A good payload of every operation."""

from typing import Any

_OVERVIEW = {"totalBreaches": 9, "loggedBreaches": 4, "challengedBreaches": 3, "blockedBreaches": 2}
_LIMIT = {
    "ratelimitId": 55, "overview": _OVERVIEW,
    "ratelimitOverviewPastTwentyEightDays": {"08-02-2026": _OVERVIEW, "07-02-2026": _OVERVIEW},
}  # fmt: skip
_SCRIPT = {
    "Id": 7, "Name": "router", "LastModified": "2026-02-06T09:27:36.7357793Z", "ScriptType": 1,
    "CurrentReleaseId": 4002,
    "EdgeScriptVariables": [{"Id": 1, "Name": "TOKEN", "Required": True, "DefaultValue": "v4lue"}], "Deleted": False,
    "LinkedPullZones": [{"Id": 9, "PullZoneName": "shop", "DefaultHostname": "shop.edge.example"}],
    "Integration": {
        "IntegrationId": 5,
        "RepositorySettings": {"Id": 6, "Name": "acme/router", "Private": True, "TemplateUrl": None},
        "DeployConfiguration": {
            "Branch": "main", "InstallCommand": "npm ci", "BuildCommand": "npm run build", "EntryFile": "index.js",
            "CreateWorkflow": False,
        },
    },
    "DefaultHostname": "router.edge.example", "SystemHostname": "router.sys.example", "DeploymentKey": "d3pl0y",
    "RepositoryId": 6, "IntegrationId": 5, "MonthlyCost": 1.25, "MonthlyRequestCount": 120000, "MonthlyCpuTime": 5300,
}  # fmt: skip
_ZONE = {
    "shieldZoneId": 3, "pullZoneId": 9, "learningMode": True, "learningModeUntil": "2026-02-20T00:00:00",
    "wafEnabled": True, "wafExecutionMode": 1, "wafDisabledRules": ["941100", "941110"], "wafLogOnlyRules": [],
    "wafCustomRuleOrder": [21, 22, 23], "wafRequestHeaderLoggingEnabled": False, "requestBodyLoggingEnabled": True,
    "wafRequestIgnoredHeaders": ["x-ignored"], "wafRealtimeThreatIntelligenceEnabled": False, "wafProfileId": 1,
    "wafEngineConfig": [{"name": "paranoia", "valueEncoded": "Mg=="}], "wafRequestBodyLimitAction": 0,
    "wafResponseBodyLimitAction": 2, "rateLimitRulesLimit": 10, "customWafRulesLimit": 5, "planType": 2,
    "dDoSShieldSensitivity": 3, "dDoSExecutionMode": 0, "dDoSChallengeWindow": 1800, "whitelabelResponsePages": True,
}  # fmt: skip
_GUARDED = {
    "apiGuardianEndpointId": 1, "shieldZoneId": 3, "requestMethod": "GET", "requestPath": "/cart/{id}",
    "isEnabled": True, "validateRequestBodySchema": True, "validateResponseBodySchema": False,
    "validateAuthorization": True, "detectParameterXss": True, "detectParameterSqli": False,
    "rateLimitingEnabled": True, "rateLimitingRequestCount": 10,
    "authSchemes": [{"schemeName": "bearer", "credentialName": "Authorization", "httpScheme": "bearer"}],
    "requestBodySchemaYaml": "type: object", "responseBodySchemasYaml": {"200": "type: array"},
    "availableParameters": {"Path": ["id"], "Query": [], "Header": None, "Cookie": []},
    "injectionDetectionParameters": {"Path": ["id"], "Query": None, "Header": None, "Cookie": []},
    "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-02T00:00:00Z",
}  # fmt: skip
_CONDITION = {"variableTypes": {"ARGS": "a", "GEO": ""}, "value": "x", "isNegated": False, "isRegexVariable": True}
_CHART = {"2026-02-06T00:00:00Z": 12, "2026-02-07T00:00:00Z": 15.5, "2026-02-08T00:00:00Z": None}


def _enveloped(data: Any) -> dict[str, Any]:
    return {"data": data, "error": {"statusCode": 0, "success": False, "message": None, "errorKey": None}}


def _rules(count: int) -> dict[str, Any]:
    about = {"name": "XSS", "code": "941", "fileName": "f.conf", "mainGroup": "m", "ruleset": "OWASP"}
    return {"id": 1, **about, "description": "d", "rules": [{"ruleId": "941100", "description": "r"}] * count}


GOOD: dict[str, Any] = {
    "dns_statistics": {
        "TotalQueriesServed": 28, "QueriesServedChart": _CHART, "NormalQueriesServedChart": _CHART,
        "SmartQueriesServedChart": {}, "QueriesByTypeChart": {"1": 20, "28": 8},
    },
    "dns_record_scan": {
        "JobId": "5b0f2c8e", "ZoneId": 102, "Domain": "example.com", "AccountId": "8c1d", "Status": 2,
        "CreatedAt": "2026-02-06T09:27:36.7357793Z", "CompletedAt": "2026-02-06T09:27:41",
        "Records": [
            {
                "Name": "www", "Type": 0, "Ttl": 300, "Value": "192.0.2.1", "Priority": 10, "Weight": 1, "Port": 443,
                "IsProxied": True,
            },
            {"Type": 0, "IsProxied": False}, *({"Type": kind} for kind in (5, 16, 99)),
            {"Type": None, "IsProxied": True},
        ],
        "Error": None,
    },
    "script_update": _SCRIPT, "script_add_secret": {"Id": 3, "Name": "TOKEN", "LastModified": "2026-02-08"},
    "container_tags": [{"name": "1.27"}, {"name": "stable"}, {"name": "stable"}, {}],
    "shield_bot_category_action": _enveloped({"category": 2, "action": 1}),
    "shield_access_list_switch": _enveloped({"isEnabled": True}),
    "shield_access_list": _enveloped({
        "id": 11, "name": "office", "description": "d", "content": "192.0.2.1\n192.0.2.2",
        "checksum": "9f86d081884c7d65", "entryCount": 2, "lastModified": "2026-02-06T09:27:36",
    }),
    "shield_api_guardian": _enveloped({
        "configuration": {
            "shieldZoneId": 3, "isEnabled": True, "title": "Shop", "version": "1.4", "maxEndpoints": 100,
            "maxFieldsPerType": 50, "maxNestingDepth": 8, "maxTotalSchemaNodes": 4000, "maxTotalRegexLength": 9000,
            "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-02T00:00:00",
        },
        "endpoints": [
            _GUARDED, _GUARDED | {"rateLimitingEnabled": None}, _GUARDED | {"isEnabled": False}, {"isEnabled": None},
        ],
    }),
    "shield_bot_detection": _enveloped({
        "requestIntegrity": {"sensitivity": 0, "aggression": None, "complexEnabled": None},
        "ipAddress": {"sensitivity": 2, "aggression": None, "complexEnabled": None},
        "browserFingerprint": {"sensitivity": 3, "aggression": 1, "complexEnabled": True}, "executionMode": 1,
        "shieldZoneId": 3,
    }),
    "shield_zones": {
        "data": [_ZONE, {"shieldZoneId": 4}],
        "page": {"totalCount": 2, "totalPages": 1, "currentPage": 1, "nextPage": None, "pageSize": 1000},
    },
    "shield_rate_limit_metrics": _enveloped(_LIMIT),
    "shield_waf_custom_rule": {
        "id": 21, "shieldZoneId": 3, "userId": "u-1", "ruleName": "login", "ruleDescription": "d", "ruleJson": "{}",
        "ruleConfiguration": {
            **_CONDITION, "transformationTypes": [1, 8], "chainedRuleConditions": [_CONDITION, {"value": "y"}],
        },
        "errorResponse": None,
    },
    "shield_waf_plan_segmentation": _enveloped([
        {
            "planValue": 0, "planName": "Basic",
            "rules": [
                {"name": "Core", "ruleset": "OWASP", "ruleGroups": [_rules(2), _rules(3)]},
                {"name": "More", "ruleset": "OWASP", "ruleGroups": [_rules(1)]},
                {"name": "Bots", "ruleset": None, "ruleGroups": []},
                {"name": "Null", "ruleset": None, "ruleGroups": [{"rules": None}]},
            ],
        },
        {"planValue": 1, "planName": None, "rules": [{"name": None, "ruleset": "OWASP", "ruleGroups": None}]},
        {"planValue": 2, "planName": None, "rules": [{"name": "Bots", "ruleset": None, "ruleGroups": [_rules(4)]}]},
        {"planValue": None, "planName": None, "rules": [{"name": None, "ruleset": None, "ruleGroups": [_rules(5)]}]},
        {"planValue": None, "planName": None, "rules": None},
    ]),
    "search": {
        "Query": "", "Total": 2, "From": 0, "Size": 20,
        "SearchResults": [{"Type": "dns", "Id": 102, "Name": "example.com"}, {"Type": "cdn", "Id": 9, "Name": "shop"}],
    },
    "script": _SCRIPT, "script_read_by_update": _SCRIPT, "shield_zone_rate_limits": _enveloped([_LIMIT]),
    "database_pipeline": {
        "baton": None, "base_url": None,
        "results": [
            {
                "type": "ok",
                "response": {
                    "type": "execute",
                    "result": {
                        "cols": [{"name": "region", "decltype": "TEXT"}, {"name": "value", "decltype": None}],
                        "rows": [[{"type": "text", "value": "eu"}, {"type": "integer", "value": "4"}]],
                    },
                },
            },
            {"type": "ok", "response": {"type": "close"}},
        ],
    },
}  # fmt: skip
