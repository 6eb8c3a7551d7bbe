"""Container registries: the tags of an image (interface document, ContainerImageTag)."""

from pydantic import ConfigDict, TypeAdapter

from exporter.platform.operation import Operation, Parameter
from exporter.platform.wire import CamelWire, Each


class ContainerImageTag(CamelWire):
    """A tag of a container image."""

    name: str


TAGS = Operation(
    name="container_tags",
    method="POST",
    path="/mc/registries/tags",
    help="Lists the tags of a container image; the request only reads, although it is a POST.",
    answer=TypeAdapter(list[Each[ContainerImageTag]], config=ConfigDict(defer_build=True)),
    parameters=(
        Parameter("registryId", "body", "string", "The registry: dockerhub, github or the number of a registry."),
        Parameter("imageName", "body", "string", "The image's name."),
        Parameter("imageNamespace", "body", "string", "The image's namespace."),
    ),
)
