"""The interface's resources as JSON schemas."""

from typing import Any, Final, TypeAlias

Schema: TypeAlias = dict[str, Any]

_INT: Final[Schema] = {"type": "integer"}
_NUMBER: Final[Schema] = {"type": "number"}
_TEXT: Final[Schema] = {"type": "string"}
_FLAG: Final[Schema] = {"type": "boolean"}
# The format is not date-time, because some of the platform's times have no zone (they mean UTC).
_TIME: Final[Schema] = {
    "type": "string",
    "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{7}Z)?$",
}


def _null(schema: Schema) -> Schema:
    """Return a schema that also allows null."""
    if "type" not in schema:
        return {"oneOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def _record(**fields: Schema) -> Schema:
    return {"type": "object", "required": list(fields), "properties": fields}


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


_PROBLEM: Final = {"title": _TEXT, "status": _INT, "detail": _TEXT, "instance": _TEXT}
_OUTCOME: Final = {"success": _FLAG, "message": _null(_TEXT), "errorKey": _null(_TEXT)}
_PARAMETERS: Final = _record(Path=_list(_TEXT), Query=_list(_TEXT), Header=_list(_TEXT), Cookie=_list(_TEXT))
_CONDITION: Final = {
    "variableTypes": _map(_TEXT),
    "value": _TEXT,
    "isNegated": _FLAG,
    "isRegexVariable": _FLAG,
}
_BREACHES: Final = _record(totalBreaches=_INT, loggedBreaches=_INT, challengedBreaches=_INT, blockedBreaches=_INT)
_BREACH_DAYS: Final = {
    "overview": _BREACHES,
    "ratelimitOverviewPastTwentyEightDays": _null(_map({"oneOf": [_BREACHES, _INT]})),
}
_SENSITIVITY: Final = _record(sensitivity=_null(_INT))

_ERRORS: Final[dict[str, Schema]] = {
    "ProblemDetails": _record(type=_TEXT, **_PROBLEM),
    "FieldErrors": _record(**_PROBLEM, errors=_list(_record(field=_TEXT, message=_TEXT)), id=_TEXT),
    "CoreError": _record(Message=_TEXT),
    "ScriptError": _record(ErrorKey=_TEXT, Field=_null(_TEXT), Message=_TEXT),
    "StatusOnly": _record(statusCode=_INT),
    "EnvelopeError": _record(**_OUTCOME),
    "EnvelopeErrorWithStatus": _record(**_OUTCOME, statusCode=_INT),
}

_DNS: Final[dict[str, Schema]] = {
    "DnsZoneStatistics": {
        **_record(
            TotalQueriesServed=_INT,
            QueriesServedChart=_null(_map(_NUMBER)),
            NormalQueriesServedChart=_null(_map(_NUMBER)),
            SmartQueriesServedChart=_null(_map(_NUMBER)),
            QueriesByTypeChart=_null(_map(_INT)),
        ),
        "additionalProperties": False,
    },
    "ScanRecord": _record(
        Name=_null(_TEXT),
        Type=_null(_INT),
        Ttl=_null(_INT),
        Value=_null(_TEXT),
        Priority=_null(_INT),
        Weight=_null(_INT),
        Port=_null(_INT),
        IsProxied=_null(_FLAG),
    ),
    "DnsRecordScanJob": _record(
        JobId=_TEXT,
        ZoneId=_null(_INT),
        Domain=_null(_TEXT),
        AccountId=_null(_TEXT),
        Status={"type": "integer", "enum": [0, 1, 2, 3]},
        CreatedAt=_TIME,
        CompletedAt=_null(_TIME),
        Records=_null(_list(reference("ScanRecord"))),
        Error=_null(_TEXT),
    ),
}

_SCRIPTS: Final[dict[str, Schema]] = {
    "Integration": _record(
        IntegrationId=_INT,
        RepositorySettings=_null(
            _record(Id=_INT, Name=_null(_TEXT), Private=_null(_FLAG), TemplateUrl=_null(_TEXT)),
        ),
        DeployConfiguration=_null(
            _record(
                Branch=_null(_TEXT),
                InstallCommand=_null(_TEXT),
                BuildCommand=_null(_TEXT),
                EntryFile=_null(_TEXT),
                CreateWorkflow=_null(_FLAG),
            ),
        ),
    ),
    "EdgeScript": _record(
        Id=_INT,
        Name=_null(_TEXT),
        LastModified=_TIME,
        ScriptType={"type": "integer", "enum": [0, 1, 2]},
        CurrentReleaseId=_INT,
        EdgeScriptVariables=_null(
            _list(_record(Id=_INT, Name=_null(_TEXT), Required=_FLAG, DefaultValue=_null(_TEXT))),
        ),
        Deleted=_FLAG,
        LinkedPullZones=_null(_list(_record(Id=_INT, PullZoneName=_null(_TEXT), DefaultHostname=_null(_TEXT)))),
        Integration=_null(reference("Integration")),
        DefaultHostname=_null(_TEXT),
        SystemHostname=_null(_TEXT),
        DeploymentKey=_null(_TEXT),
        RepositoryId=_null(_INT),
        IntegrationId=_null(_INT),
        MonthlyCost=_NUMBER,
        MonthlyRequestCount=_NUMBER,
        MonthlyCpuTime=_NUMBER,
    ),
    "EdgeScriptPage": _record(
        Items=_list(reference("EdgeScript")),
        CurrentPage=_INT,
        TotalItems=_INT,
        HasMoreItems=_FLAG,
    ),
    "ScriptSecret": _record(Id=_INT, Name=_TEXT, LastModified=_TIME),
}

_OTHERS: Final[dict[str, Schema]] = {
    "ContainerImageTags": _list(_record(name=_TEXT)),
    "SearchResponse": _record(
        Query=_TEXT,
        Total=_INT,
        From=_INT,
        Size=_INT,
        SearchResults=_list(_record(Type=_TEXT, Id=_INT, Name=_TEXT)),
    ),
}

_SHIELD: Final[dict[str, Schema]] = {
    "ShieldZone": _record(
        shieldZoneId=_INT,
        pullZoneId=_INT,
        learningMode=_FLAG,
        learningModeUntil=_null(_TIME),
        wafEnabled=_FLAG,
        wafExecutionMode=_null(_INT),
        wafDisabledRules=_null(_list(_TEXT)),
        wafLogOnlyRules=_null(_list(_TEXT)),
        wafCustomRuleOrder=_null(_list(_INT)),
        wafRequestHeaderLoggingEnabled=_FLAG,
        requestBodyLoggingEnabled=_FLAG,
        wafRequestIgnoredHeaders=_null(_list(_TEXT)),
        wafRealtimeThreatIntelligenceEnabled=_FLAG,
        wafProfileId=_null(_INT),
        wafEngineConfig=_null(_list(_record(name=_TEXT, valueEncoded=_TEXT))),
        wafRequestBodyLimitAction=_null(_INT),
        wafResponseBodyLimitAction=_null(_INT),
        rateLimitRulesLimit=_null(_INT),
        customWafRulesLimit=_null(_INT),
        planType=_null(_INT),
        dDoSShieldSensitivity=_null(_INT),
        dDoSExecutionMode=_null(_INT),
        dDoSChallengeWindow=_INT,
        whitelabelResponsePages=_FLAG,
    ),
    "ShieldZonePage": _record(
        data=_list(reference("ShieldZone")),
        page=_record(totalCount=_INT, totalPages=_INT, currentPage=_INT, nextPage=_null(_INT), pageSize=_INT),
    ),
    "RateLimitMetrics": _envelope(_record(**_BREACH_DAYS), with_status=True),
    "ZoneRateLimitMetrics": _envelope(_list(_record(ratelimitId=_INT, **_BREACH_DAYS)), with_status=True),
    "BotCategoryActionEnvelope": _envelope(_record(category=_INT, action=_INT), with_status=True),
    "AccessListConfigurationEnvelope": _envelope(_record(isEnabled=_FLAG)),
    "CustomAccessListEnvelope": _envelope(
        _record(
            id=_INT,
            name=_TEXT,
            description=_null(_TEXT),
            content=_TEXT,
            checksum=_TEXT,
            entryCount=_null(_INT),
            lastModified=_null(_TIME),
        ),
    ),
    "BotDetectionEnvelope": _envelope(
        _record(
            requestIntegrity=_null(_SENSITIVITY),
            ipAddress=_null(_SENSITIVITY),
            browserFingerprint=_null(_record(sensitivity=_null(_INT), aggression=_null(_INT), complexEnabled=_FLAG)),
            executionMode=_INT,
            shieldZoneId=_INT,
        ),
    ),
    "ApiGuardianEndpoint": _record(
        apiGuardianEndpointId=_INT,
        shieldZoneId=_INT,
        requestMethod=_TEXT,
        requestPath=_TEXT,
        validateRequestBodySchema=_FLAG,
        validateResponseBodySchema=_FLAG,
        validateAuthorization=_FLAG,
        isEnabled=_FLAG,
        authSchemes=_list(_record(schemeName=_TEXT, credentialName=_TEXT, httpScheme=_TEXT)),
        requestBodySchemaYaml=_null(_TEXT),
        responseBodySchemasYaml=_map(_TEXT),
        availableParameters=_PARAMETERS,
        injectionDetectionParameters=_PARAMETERS,
        detectParameterXss=_FLAG,
        detectParameterSqli=_FLAG,
        rateLimitingEnabled=_FLAG,
        rateLimitingRequestCount=_null(_INT),
        createdAt=_TIME,
        updatedAt=_TIME,
    ),
    "ApiGuardianEnvelope": _envelope(
        _record(
            configuration=_record(
                shieldZoneId=_INT,
                isEnabled=_FLAG,
                title=_TEXT,
                version=_TEXT,
                maxEndpoints=_INT,
                maxFieldsPerType=_INT,
                maxNestingDepth=_INT,
                maxTotalSchemaNodes=_INT,
                maxTotalRegexLength=_null(_INT),
                createdAt=_TIME,
                updatedAt=_TIME,
            ),
            endpoints=_list(reference("ApiGuardianEndpoint")),
        ),
    ),
    "CustomWafRule": _record(
        id=_INT,
        shieldZoneId=_INT,
        userId=_null(_TEXT),
        ruleName=_null(_TEXT),
        ruleDescription=_null(_TEXT),
        ruleJson=_null(_TEXT),
        ruleConfiguration=_null(
            _record(
                **_CONDITION,
                transformationTypes=_list(_INT),
                chainedRuleConditions=_list(_record(**_CONDITION)),
            )
        ),
        errorResponse={"anyOf": [reference("EnvelopeError"), reference("EnvelopeErrorWithStatus"), {"type": "null"}]},
    ),
    "RuleGroup": _record(
        id=_INT,
        name=_TEXT,
        code=_TEXT,
        fileName=_TEXT,
        mainGroup=_TEXT,
        ruleset=_TEXT,
        description=_null(_TEXT),
        rules=_list(_record(ruleId=_TEXT, description=_TEXT)),
    ),
    "WafPlanSegmentation": _envelope(
        _list(
            _record(
                planValue=_INT,
                planName=_TEXT,
                rules=_list(_record(name=_TEXT, ruleset=_TEXT, ruleGroups=_list(reference("RuleGroup")))),
            ),
        ),
    ),
}

_DATABASE: Final[dict[str, Schema]] = {
    "PipelineRequest": {
        "type": "object",
        "required": ["requests"],
        "properties": {"baton": _null(_TEXT), "requests": _list({"type": "object", "required": ["type"]})},
    },
    "PipelineResponse": _record(
        baton=_null(_TEXT),
        base_url=_null(_TEXT),
        results=_list(
            {
                "type": "object",
                "required": ["type"],
                "properties": {
                    "type": {"enum": ["ok", "error"]},
                    "response": {"type": "object"},
                    "error": _record(message=_TEXT, code=_TEXT),
                },
            },
        ),
    ),
    "DatabaseError": _record(error=_TEXT),
}

SCHEMAS: Final[dict[str, Schema]] = {**_ERRORS, **_DNS, **_SCRIPTS, **_OTHERS, **_SHIELD, **_DATABASE}
