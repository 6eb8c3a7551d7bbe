"""Every operation of the interface document is in the client, the sandbox and `call`."""

import re

from exporter.commands.call.callable_operations import CALLABLE
from exporter.platform.api.operations import OPERATIONS
from exporter.platform.operation import Operation
from exporter.sandbox.management_api import OPERATIONS as SERVED

# The endpoint table of the interface document, and its database pipeline.
DOCUMENTED = (
    ("GET", "/dnszone/{id}/statistics"),
    ("GET", "/dnszone/{zoneId}/records/scan"),
    ("POST", "/compute/script/{id}"),
    ("POST", "/compute/script/{id}/secrets"),
    ("POST", "/mc/registries/tags"),
    ("PUT", "/shield/shield-zone/{shieldZoneId}/bot-categorization/categories/{category}"),
    ("PATCH", "/shield/shield-zone/{shieldZoneId}/access-lists/configurations/{id}"),
    ("GET", "/shield/shield-zone/{shieldZoneId}/access-lists/{id}"),
    ("GET", "/shield/shield-zone/{shieldZoneId}/api-guardian"),
    ("GET", "/shield/shield-zone/{shieldZoneId}/bot-detection"),
    ("GET", "/shield/shield-zones"),
    ("GET", "/shield/metrics/rate-limit/{id}"),
    ("GET", "/shield/waf/custom-rule/{id}"),
    ("GET", "/shield/waf/rules/plan-segmentation"),
    ("GET", "/search"),
    ("POST", "/v2/pipeline"),
)


def shape(path: str) -> str:
    """Return a path without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", path)


def named(method: str, path: str) -> list[Operation[object]]:
    """Return the client's operations for a row."""
    return [operation for operation in OPERATIONS if (operation.method, shape(operation.path)) == (method, shape(path))]


def test_the_client_the_sandbox_and_call_have_every_documented_operation() -> None:
    served = {(operation.method, shape(operation.path)) for operation in SERVED} | {("POST", "/v2/pipeline")}
    assert [row for row in DOCUMENTED if not named(*row)] == []
    assert [row for row in DOCUMENTED if (row[0], shape(row[1])) not in served] == []
    assert [row for row in DOCUMENTED if not any(operation.name in CALLABLE for operation in named(*row))] == []
