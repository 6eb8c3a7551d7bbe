"""The operation on container registries."""

from typing import Annotated, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import field_errors, payload, problem
from exporter.sandbox.containers import RegistryUnreachableError
from exporter.sandbox.operation import PROBLEM, Access, operation
from exporter.sandbox.request_parsing import RequestError, json_body
from exporter.sandbox.world import World

_Text: TypeAlias = Annotated[str, Field(min_length=1)]


class ContainerImage(BaseModel):
    """An image of a registry: dockerhub, github, or one that the account gave a number."""

    model_config = ConfigDict(alias_generator=to_camel)

    registry_id: Annotated[str, Field(pattern="^(dockerhub|github|[0-9]{1,18})$")]
    image_name: _Text
    image_namespace: _Text


@operation(
    "POST",
    "/mc/registries/tags",
    access=Access.ACCESS_KEY,
    errors=PROBLEM,
    result="ContainerImageTags",
    body=ContainerImage,
    failures=(404, 422, 500),
)
async def container_image_tags(world: World, request: Request) -> Response:
    """Return the tags of a container image."""
    path = request.url.path
    try:
        image = await json_body(request, ContainerImage)
        tags = world.registries.tags(image.registry_id, image.image_namespace, image.image_name)
    except RequestError as error:
        if not error.fields:
            raise
        return field_errors(422, "The request cannot be processed.", path, error.fields, world.next_trace())
    except RegistryUnreachableError:
        unreachable = [("registryId", "The registry does not answer.")]
        return field_errors(500, "The tags could not be read.", path, unreachable, world.next_trace())
    except KeyError:
        return problem(404, "The image was not found.", path)
    return payload([{"name": tag} for tag in tags])


OPERATIONS: Final = (container_image_tags,)
