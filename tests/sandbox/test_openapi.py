"""The sandbox's OpenAPI description."""

import httpx

from exporter.sandbox.management_api import OPERATIONS


async def test_the_description_has_every_documented_operation(client: httpx.AsyncClient) -> None:
    described = (await client.get("/openapi.json")).json()
    paths = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    assert paths == {(one.method, one.path) for one in OPERATIONS} | {("POST", "/v2/pipeline")}
    statistics = described["paths"]["/dnszone/{id}/statistics"]["get"]
    assert [one["name"] for one in statistics["parameters"]] == ["id", "dateFrom", "dateTo"]
    secret = described["components"]["schemas"]["Body_script_add_secret"]
    assert (secret["required"], secret["properties"]["Secret"]["maxLength"]) == (["Name", "Secret"], 4_096)
