"""The sandbox's own description: FastAPI's, with the answers, the media types and the database's pipeline."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from fastapi.openapi.utils import get_openapi

from exporter.sandbox.operation import Access, Operation

Schema: TypeAlias = dict[str, Any]

_NULL: Final[Schema] = {"type": "null"}


def reference(name: str) -> Schema:
    """Return a reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


# Kinds of fields that are no objects, or special ones.
_KINDS: Final[dict[str, Schema]] = {
    "text": {"type": "string"},
    "int": {"type": "integer"},
    "number": {"type": "number"},
    "bool": {"type": "boolean"},
    # The format is not date-time, because some of the platform's times have no zone (they mean UTC).
    "time": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{7}Z)?$"},
    "script_type": {"type": "integer", "enum": [0, 1, 2]},
    "scan_status": {"type": "integer", "enum": [0, 1, 2, 3]},
    "rule_error": {"anyOf": [reference("EnvelopeError"), reference("EnvelopeErrorWithStatus"), _NULL]},
    "outcome": {"enum": ["ok", "error"]},
    "object": {"type": "object"},
    "stream_request": {"type": "object", "required": ["type"]},
}
# The fields of objects inside of others. A field is written `name:KIND`, and `name` if it is text; `?` allows null, and
# `[]` is a list and `{}` a map of a kind, `|` is between possible kinds, and `~` begins a field that may be missing.
# A capital letter begins the name of a schema.
_PARTS: Final = {
    "access_list": "id:int name description? content checksum entryCount:int? lastModified:time?",
    "api_guardian": "configuration:guardian endpoints:ApiGuardianEndpoint[]",
    "auth_scheme": "schemeName credentialName httpScheme",
    "bot_action": "category:int action:int",
    "bot_detection": "executionMode:int shieldZoneId:int requestIntegrity:sensitivity? ipAddress:sensitivity? "
    "browserFingerprint:fingerprint?",
    "breaches": "totalBreaches:int loggedBreaches:int challengedBreaches:int blockedBreaches:int",
    "condition": "value isNegated:bool isRegexVariable:bool variableTypes:text{}",
    "deployment": "Branch? InstallCommand? BuildCommand? EntryFile? CreateWorkflow:bool?",
    "engine_setting": "name valueEncoded",
    "fingerprint": "sensitivity:int? aggression:int? complexEnabled:bool",
    "found": "Type Id:int Name",
    "guardian": "shieldZoneId:int isEnabled:bool title version maxEndpoints:int maxFieldsPerType:int "
    "maxNestingDepth:int maxTotalSchemaNodes:int maxTotalRegexLength:int? createdAt:time updatedAt:time",
    "limit": "overview:breaches ratelimitOverviewPastTwentyEightDays:breaches|int{}?",
    "limit_of_zone": "ratelimitId:int overview:breaches ratelimitOverviewPastTwentyEightDays:breaches|int{}?",
    "page": "totalCount:int totalPages:int currentPage:int nextPage:int? pageSize:int",
    "parameters": "Path:text[] Query:text[] Header:text[] Cookie:text[]",
    "plan": "planValue:int planName rules:rule_set[]",
    "pull_zone": "Id:int PullZoneName? DefaultHostname?",
    "repository": "Id:int Name? Private:bool? TemplateUrl?",
    "rule": "ruleId description",
    "rule_configuration": "value isNegated:bool isRegexVariable:bool transformationTypes:int[] variableTypes:text{} "
    "chainedRuleConditions:condition[]",
    "rule_set": "name ruleset ruleGroups:RuleGroup[]",
    "sensitivity": "sensitivity:int?",
    "sql_error": "message code",
    "stream_result": "type:outcome ~response:object ~error:sql_error",
    "switch": "isEnabled:bool",
    "variable": "Id:int Name? Required:bool DefaultValue?",
    "wrong_field": "field message",
}
_RECORDS: Final = {
    "ProblemDetails": "type title status:int detail instance",
    "FieldErrors": "title status:int detail instance id errors:wrong_field[]",
    "CoreError": "Message",
    "ScriptError": "ErrorKey Field? Message",
    "StatusOnly": "statusCode:int",
    "EnvelopeError": "success:bool message? errorKey?",
    "EnvelopeErrorWithStatus": "success:bool message? errorKey? statusCode:int",
    "DnsZoneStatistics": "TotalQueriesServed:int QueriesServedChart:number{}? NormalQueriesServedChart:number{}? "
    "SmartQueriesServedChart:number{}? QueriesByTypeChart:int{}?",
    "ScanRecord": "Name? Type:int? Ttl:int? Value? Priority:int? Weight:int? Port:int? IsProxied:bool?",
    "DnsRecordScanJob": "JobId ZoneId:int? Domain? AccountId? CreatedAt:time CompletedAt:time? Error? "
    "Status:scan_status Records:ScanRecord[]?",
    "Integration": "IntegrationId:int RepositorySettings:repository? DeployConfiguration:deployment?",
    "EdgeScript": "Id:int Name? LastModified:time CurrentReleaseId:int Deleted:bool DefaultHostname? SystemHostname? "
    "DeploymentKey? RepositoryId:int? IntegrationId:int? MonthlyCost:number MonthlyRequestCount:number "
    "MonthlyCpuTime:number ScriptType:script_type EdgeScriptVariables:variable[]? LinkedPullZones:pull_zone[]? "
    "Integration:Integration?",
    "EdgeScriptPage": "CurrentPage:int TotalItems:int HasMoreItems:bool Items:EdgeScript[]",
    "ScriptSecret": "Id:int Name LastModified:time",
    "ContainerImageTags": "name",
    "SearchResponse": "Query Total:int From:int Size:int SearchResults:found[]",
    "ShieldZone": "shieldZoneId:int pullZoneId:int learningMode:bool learningModeUntil:time? wafEnabled:bool "
    "wafExecutionMode:int? wafDisabledRules:text[]? wafLogOnlyRules:text[]? wafCustomRuleOrder:int[]? "
    "wafRequestHeaderLoggingEnabled:bool requestBodyLoggingEnabled:bool wafRequestIgnoredHeaders:text[]? "
    "wafRealtimeThreatIntelligenceEnabled:bool wafProfileId:int? wafRequestBodyLimitAction:int? "
    "wafResponseBodyLimitAction:int? rateLimitRulesLimit:int? customWafRulesLimit:int? planType:int? "
    "dDoSShieldSensitivity:int? dDoSExecutionMode:int? dDoSChallengeWindow:int whitelabelResponsePages:bool "
    "wafEngineConfig:engine_setting[]?",
    "ShieldZonePage": "data:ShieldZone[] page:page",
    "RateLimitMetrics": "data:limit? error:EnvelopeErrorWithStatus?",
    "ZoneRateLimitMetrics": "data:limit_of_zone[]? error:EnvelopeErrorWithStatus?",
    "BotCategoryActionEnvelope": "data:bot_action? error:EnvelopeErrorWithStatus?",
    "AccessListConfigurationEnvelope": "data:switch? error:EnvelopeError?",
    "CustomAccessListEnvelope": "data:access_list? error:EnvelopeError?",
    "BotDetectionEnvelope": "data:bot_detection? error:EnvelopeError?",
    "ApiGuardianEndpoint": "apiGuardianEndpointId:int shieldZoneId:int requestMethod requestPath "
    "validateRequestBodySchema:bool validateResponseBodySchema:bool validateAuthorization:bool isEnabled:bool "
    "requestBodySchemaYaml? detectParameterXss:bool detectParameterSqli:bool rateLimitingEnabled:bool "
    "rateLimitingRequestCount:int? createdAt:time updatedAt:time authSchemes:auth_scheme[] "
    "responseBodySchemasYaml:text{} availableParameters:parameters injectionDetectionParameters:parameters",
    "ApiGuardianEnvelope": "data:api_guardian? error:EnvelopeError?",
    "CustomWafRule": "id:int shieldZoneId:int userId? ruleName? ruleDescription? ruleJson? "
    "ruleConfiguration:rule_configuration? errorResponse:rule_error",
    "RuleGroup": "id:int name code fileName mainGroup ruleset description? rules:rule[]",
    "WafPlanSegmentation": "data:plan[]? error:EnvelopeError?",
    "PipelineRequest": "~baton? requests:stream_request[]",
    "PipelineResponse": "baton? base_url? results:stream_result[]",
    "DatabaseError": "error",
}


def _record(fields: str) -> Schema:
    """Return the schema of an object with these fields."""
    properties, required = {}, []
    for field in fields.split():
        written, _, kind = field.partition(":")
        name = written.strip("~?")
        properties[name] = _kind(kind or ("text?" if written.endswith("?") else "text"))
        required += [] if written.startswith("~") else [name]
    return {"type": "object", "required": required, "properties": properties}


def _kind(kind: str) -> Schema:
    """Return the schema of a kind of field."""
    if kind.endswith("?"):
        schema = _kind(kind[:-1])
        return {**schema, "type": [schema["type"], "null"]} if "type" in schema else {"oneOf": [schema, _NULL]}
    if kind.endswith("[]"):
        return {"type": "array", "items": _kind(kind[:-2])}
    if kind.endswith("{}"):
        return {"type": "object", "additionalProperties": _kind(kind[:-2])}
    if "|" in kind:
        return {"oneOf": [_kind(one) for one in kind.split("|")]}
    if kind in _PARTS:
        return _record(_PARTS[kind])
    return _KINDS.get(kind) or reference(kind)


_OBJECTS: Final = {name: _record(fields) for name, fields in _RECORDS.items()}
SCHEMAS: Final[dict[str, Schema]] = _OBJECTS | {
    "DnsZoneStatistics": _OBJECTS["DnsZoneStatistics"] | {"additionalProperties": False},
    "ContainerImageTags": {"type": "array", "items": _OBJECTS["ContainerImageTags"]},
}

_JSON: Final = "application/json"
_CONTENT_TYPES: Final = (_JSON, "text/json", "application/merge-patch+json")
_ENVELOPE_FAILURE: Final = 202
_UNAUTHORISED: Final = 401
_FAILED: Final = 500
_FIELD_ERRORS: Final = frozenset({422, _FAILED})
_MEDIA_TYPES: Final = {"ProblemDetails": "application/problem+json", "FieldErrors": "application/problem+json"}
_MEANINGS: Final = {
    200: "Success",
    202: "A failure inside an envelope",
    400: "The request is wrong",
    401: "The request is not authorised",
    403: "The token does not allow it",
    404: "There is no such resource",
    413: "The body is too large",
    415: "The content type is not supported",
    422: "The request cannot be processed",
    500: "The platform failed",
}


def describe(operations: Sequence[Operation]) -> dict[str, Any]:
    """Describe the operations and the database's pipeline."""
    described = get_openapi(title="Edge platform sandbox", version="1.0.0", routes=operations)
    for operation in operations:
        one = described["paths"][operation.path][operation.method.lower()]
        one["x-documented"] = operation.documented
        one["security"] = [{"AccessKey": []}, *([] if operation.access is Access.ACCESS_KEY else [{"bearer": []}])]
        one["responses"] = {
            str(status): _answer(status, _schema(operation, status)) for status in (200, *operation.statuses)
        }
        if "requestBody" in one:
            one["requestBody"]["content"] = dict.fromkeys(_CONTENT_TYPES, one["requestBody"]["content"][_JSON])
    described["paths"]["/v2/pipeline"] = {"post": _pipeline()}
    schemas = described["components"]["schemas"] | SCHEMAS
    # FastAPI's own answers to a wrong request, which no operation sends.
    described["components"] = {
        "schemas": {name: schemas[name] for name in schemas if "ValidationError" not in name},
        "securitySchemes": {
            "AccessKey": {"type": "apiKey", "in": "header", "name": "AccessKey"},
            "bearer": {"type": "http", "scheme": "bearer"},
            "databaseToken": {"type": "http", "scheme": "bearer"},
        },
    }
    return described


def _schema(operation: Operation, status: int) -> str | None:
    """Return the name of the schema of an answer; None if it has no body."""
    schema = operation.unauthorised if status == _UNAUTHORISED else operation.errors
    if status in (200, _ENVELOPE_FAILURE):
        schema = operation.result
    elif schema == "FieldErrors" and status not in _FIELD_ERRORS:
        schema = "ProblemDetails"
    elif schema == "ScriptError" and status == _FAILED:
        schema = None
    return schema


def _answer(status: int, schema: str | None) -> dict[str, Any]:
    described: dict[str, Any] = {"description": _MEANINGS[status]}
    if schema is not None:
        described["content"] = {_MEDIA_TYPES.get(schema, _JSON): {"schema": reference(schema)}}
    return described


def _pipeline() -> dict[str, Any]:
    text = {"content": {"text/plain": {"schema": {"type": "string"}}}}
    return {
        "operationId": "database_pipeline",
        "summary": "Execute SQL statements",
        "security": [{"databaseToken": []}],
        "requestBody": {"required": True, "content": {_JSON: {"schema": reference("PipelineRequest")}}},
        "responses": {
            "200": _answer(200, "PipelineResponse"),
            **{str(status): _answer(status, "DatabaseError") for status in (401, 403)},
            **{str(status): _answer(status, None) | text for status in (400, 404, 413)},
        },
        "x-documented": True,
    }
