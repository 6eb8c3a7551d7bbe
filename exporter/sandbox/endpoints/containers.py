"""The operation on container registries."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import field_errors, payload, problem
from exporter.sandbox.containers import RegistryUnreachableError, is_registry_id
from exporter.sandbox.operation import PROBLEM, Access, operation
from exporter.sandbox.request_parsing import json_object
from exporter.sandbox.world import World

_FIELDS: Final = ("registryId", "imageName", "imageNamespace")


@operation(
    "POST",
    "/mc/registries/tags",
    access=Access.ACCESS_KEY,
    errors=PROBLEM,
    result="ContainerImageTags",
    body={
        "type": "object",
        "required": list(_FIELDS),
        "properties": {field: {"type": "string", "minLength": 1} for field in _FIELDS},
    },
    failures=(404, 422, 500),
)
async def container_image_tags(world: World, request: Request) -> Response:
    """Return the tags of a container image."""
    body = await json_object(request)
    path = request.url.path
    errors = [
        (field, f"{field} must be a string that is not empty.")
        for field in _FIELDS
        if not isinstance(body.get(field), str) or not body[field]
    ]
    if not errors and not is_registry_id(body["registryId"]):
        errors = [("registryId", "registryId must be dockerhub, github, or a registry's number.")]
    if errors:
        return field_errors(422, "The request cannot be processed.", path, errors, world.next_trace())
    try:
        tags = world.registries.tags(body["registryId"], body["imageNamespace"], body["imageName"])
    except RegistryUnreachableError:
        unreachable = [("registryId", "The registry does not answer.")]
        return field_errors(500, "The tags could not be read.", path, unreachable, world.next_trace())
    except KeyError:
        return problem(404, "The image was not found.", path)
    return payload([{"name": tag} for tag in tags])


OPERATIONS: Final = (container_image_tags,)
