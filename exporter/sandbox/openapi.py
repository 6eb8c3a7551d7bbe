"""The sandbox's own description: FastAPI's, with the answers, the media types and the database's pipeline."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from fastapi.openapi.utils import get_openapi

from exporter.sandbox.operation import Access, Operation

Schema: TypeAlias = dict[str, Any]

_INT: Final[Schema] = {"type": "integer"}
_TEXT: Final[Schema] = {"type": "string"}
_KINDS: Final[dict[str, Schema]] = {
    "": _TEXT,
    "int": _INT,
    "number": {"type": "number"},
    "bool": {"type": "boolean"},
    # The format is not date-time, because some of the platform's times have no zone (they mean UTC).
    "time": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{7}Z)?$"},
    "texts": {"type": "array", "items": _TEXT},
    "ints": {"type": "array", "items": _INT},
}


def _null(schema: Schema) -> Schema:
    """Return a schema that also allows null."""
    if "type" not in schema:
        return {"oneOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def _record(fields: str = "", /, **others: Schema) -> Schema:
    """Return the schema of an object; a field is written `name:kind`, `name` if it is text, and `?` allows null."""
    properties = {}
    for field in fields.split():
        name, _, kind = field.removesuffix("?").partition(":")
        properties[name] = _null(_KINDS[kind]) if field.endswith("?") else _KINDS[kind]
    return {"type": "object", "required": [*properties, *others], "properties": properties | others}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def reference(name: str) -> Schema:
    """Return a reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def _envelope(data: Schema, *, with_status: bool = False) -> Schema:
    name = "EnvelopeErrorWithStatus" if with_status else "EnvelopeError"
    return _record(data=_null(data), error=_null(reference(name)))


_PROBLEM: Final = "title status:int detail instance"
_OUTCOME: Final = "success:bool message? errorKey?"
_PARAMETERS: Final = _record("Path:texts Query:texts Header:texts Cookie:texts")
_CONDITION: Final = "value isNegated:bool isRegexVariable:bool"
_VARIABLES: Final = _map(_TEXT)
_BREACHES: Final = _record("totalBreaches:int loggedBreaches:int challengedBreaches:int blockedBreaches:int")
_BREACH_DAYS: Final = {
    "overview": _BREACHES,
    "ratelimitOverviewPastTwentyEightDays": _null(_map({"oneOf": [_BREACHES, _INT]})),
}
_SENSITIVITY: Final = _null(_record("sensitivity:int?"))
_CHART: Final = _null(_map(_KINDS["number"]))

SCHEMAS: Final[dict[str, Schema]] = {
    "ProblemDetails": _record(f"type {_PROBLEM}"),
    "FieldErrors": _record(f"{_PROBLEM} id", errors=_list(_record("field message"))),
    "CoreError": _record("Message"),
    "ScriptError": _record("ErrorKey Field? Message"),
    "StatusOnly": _record("statusCode:int"),
    "EnvelopeError": _record(_OUTCOME),
    "EnvelopeErrorWithStatus": _record(f"{_OUTCOME} statusCode:int"),
    "DnsZoneStatistics": _record(
        "TotalQueriesServed:int",
        QueriesServedChart=_CHART,
        NormalQueriesServedChart=_CHART,
        SmartQueriesServedChart=_CHART,
        QueriesByTypeChart=_null(_map(_INT)),
    )
    | {"additionalProperties": False},
    "ScanRecord": _record("Name? Type:int? Ttl:int? Value? Priority:int? Weight:int? Port:int? IsProxied:bool?"),
    "DnsRecordScanJob": _record(
        "JobId ZoneId:int? Domain? AccountId? CreatedAt:time CompletedAt:time? Error?",
        Status={"type": "integer", "enum": [0, 1, 2, 3]},
        Records=_null(_list(reference("ScanRecord"))),
    ),
    "Integration": _record(
        "IntegrationId:int",
        RepositorySettings=_null(_record("Id:int Name? Private:bool? TemplateUrl?")),
        DeployConfiguration=_null(_record("Branch? InstallCommand? BuildCommand? EntryFile? CreateWorkflow:bool?")),
    ),
    "EdgeScript": _record(
        "Id:int Name? LastModified:time CurrentReleaseId:int Deleted:bool DefaultHostname? SystemHostname? "
        "DeploymentKey? RepositoryId:int? IntegrationId:int? MonthlyCost:number MonthlyRequestCount:number "
        "MonthlyCpuTime:number",
        ScriptType={"type": "integer", "enum": [0, 1, 2]},
        EdgeScriptVariables=_null(_list(_record("Id:int Name? Required:bool DefaultValue?"))),
        LinkedPullZones=_null(_list(_record("Id:int PullZoneName? DefaultHostname?"))),
        Integration=_null(reference("Integration")),
    ),
    "EdgeScriptPage": _record("CurrentPage:int TotalItems:int HasMoreItems:bool", Items=_list(reference("EdgeScript"))),
    "ScriptSecret": _record("Id:int Name LastModified:time"),
    "ContainerImageTags": _list(_record("name")),
    "SearchResponse": _record("Query Total:int From:int Size:int", SearchResults=_list(_record("Type Id:int Name"))),
    "ShieldZone": _record(
        "shieldZoneId:int pullZoneId:int learningMode:bool learningModeUntil:time? wafEnabled:bool "
        "wafExecutionMode:int? wafDisabledRules:texts? wafLogOnlyRules:texts? wafCustomRuleOrder:ints? "
        "wafRequestHeaderLoggingEnabled:bool requestBodyLoggingEnabled:bool wafRequestIgnoredHeaders:texts? "
        "wafRealtimeThreatIntelligenceEnabled:bool wafProfileId:int? wafRequestBodyLimitAction:int? "
        "wafResponseBodyLimitAction:int? rateLimitRulesLimit:int? customWafRulesLimit:int? planType:int? "
        "dDoSShieldSensitivity:int? dDoSExecutionMode:int? dDoSChallengeWindow:int whitelabelResponsePages:bool",
        wafEngineConfig=_null(_list(_record("name valueEncoded"))),
    ),
    "ShieldZonePage": _record(
        data=_list(reference("ShieldZone")),
        page=_record("totalCount:int totalPages:int currentPage:int nextPage:int? pageSize:int"),
    ),
    "RateLimitMetrics": _envelope(_record(**_BREACH_DAYS), with_status=True),
    "ZoneRateLimitMetrics": _envelope(_list(_record("ratelimitId:int", **_BREACH_DAYS)), with_status=True),
    "BotCategoryActionEnvelope": _envelope(_record("category:int action:int"), with_status=True),
    "AccessListConfigurationEnvelope": _envelope(_record("isEnabled:bool")),
    "CustomAccessListEnvelope": _envelope(
        _record("id:int name description? content checksum entryCount:int? lastModified:time?")
    ),
    "BotDetectionEnvelope": _envelope(
        _record(
            "executionMode:int shieldZoneId:int",
            requestIntegrity=_SENSITIVITY,
            ipAddress=_SENSITIVITY,
            browserFingerprint=_null(_record("sensitivity:int? aggression:int? complexEnabled:bool")),
        )
    ),
    "ApiGuardianEndpoint": _record(
        "apiGuardianEndpointId:int shieldZoneId:int requestMethod requestPath validateRequestBodySchema:bool "
        "validateResponseBodySchema:bool validateAuthorization:bool isEnabled:bool requestBodySchemaYaml? "
        "detectParameterXss:bool detectParameterSqli:bool rateLimitingEnabled:bool rateLimitingRequestCount:int? "
        "createdAt:time updatedAt:time",
        authSchemes=_list(_record("schemeName credentialName httpScheme")),
        responseBodySchemasYaml=_map(_TEXT),
        availableParameters=_PARAMETERS,
        injectionDetectionParameters=_PARAMETERS,
    ),
    "ApiGuardianEnvelope": _envelope(
        _record(
            configuration=_record(
                "shieldZoneId:int isEnabled:bool title version maxEndpoints:int maxFieldsPerType:int "
                "maxNestingDepth:int maxTotalSchemaNodes:int maxTotalRegexLength:int? createdAt:time updatedAt:time"
            ),
            endpoints=_list(reference("ApiGuardianEndpoint")),
        )
    ),
    "CustomWafRule": _record(
        "id:int shieldZoneId:int userId? ruleName? ruleDescription? ruleJson?",
        ruleConfiguration=_null(
            _record(
                f"{_CONDITION} transformationTypes:ints",
                variableTypes=_VARIABLES,
                chainedRuleConditions=_list(_record(_CONDITION, variableTypes=_VARIABLES)),
            )
        ),
        errorResponse={"anyOf": [reference("EnvelopeError"), reference("EnvelopeErrorWithStatus"), {"type": "null"}]},
    ),
    "RuleGroup": _record(
        "id:int name code fileName mainGroup ruleset description?", rules=_list(_record("ruleId description"))
    ),
    "WafPlanSegmentation": _envelope(
        _list(
            _record(
                "planValue:int planName", rules=_list(_record("name ruleset", ruleGroups=_list(reference("RuleGroup"))))
            )
        )
    ),
    "PipelineRequest": {
        "type": "object",
        "required": ["requests"],
        "properties": {"baton": _null(_TEXT), "requests": _list({"type": "object", "required": ["type"]})},
    },
    "PipelineResponse": _record(
        "baton? base_url?",
        results=_list(
            {
                "type": "object",
                "required": ["type"],
                "properties": {
                    "type": {"enum": ["ok", "error"]},
                    "response": {"type": "object"},
                    "error": _record("message code"),
                },
            }
        ),
    ),
    "DatabaseError": _record("error"),
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
