"""Container registries: the tags of an image (interface document, ContainerImageTag)."""

from pydantic import TypeAdapter

from exporter.platform.operation import Answer, Caller, Operation, Parameter, Request
from exporter.platform.wire import DEFERRED, CamelWire, Each, usable


class ContainerImageTag(CamelWire):
    """A tag of a container image."""

    name: str


TAGS = Operation(
    name="container_tags",
    method="POST",
    path="/mc/registries/tags",
    help="The tags of a container image; it only reads, although it is a POST.",
    answer=TypeAdapter(list[Each[ContainerImageTag]], config=DEFERRED),
    parameters=(
        Parameter("registryId", "body", "string", "Registry: dockerhub, github, or a number as text."),
        Parameter("imageName", "body", "string", "The image's name."),
        Parameter("imageNamespace", "body", "string", "The image's namespace."),
    ),
)


async def tags(caller: Caller, registry_id: str, namespace: str, name: str) -> Answer[frozenset[str]]:
    """Return the distinct tags of an image.

    Raises:
        PlatformError: there is no usable answer.
    """
    body = {"registryId": registry_id, "imageName": name, "imageNamespace": namespace}
    answer = await caller.call(Request(TAGS, body=body))
    return Answer(frozenset(tag.name for tag in usable(answer.value)), answer.date)
