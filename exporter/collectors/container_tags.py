"""Tags of container images (interface document, ContainerImageTag)."""

from dataclasses import dataclass

from exporter.collectors.collector import ACCOUNT, Context, TargetCollector, attribute
from exporter.metric import Metric
from exporter.platform.api import containers
from exporter.platform.operation import Answer, Request
from exporter.platform.wire import usable
from exporter.targets.target import Target


@dataclass(frozen=True, slots=True)
class ImageTags:
    """The tags of an image, and the tags that the configuration watches for."""

    tags: frozenset[str]
    watched: tuple[str, ...]


async def _fetch(context: Context, target: Target) -> Answer[ImageTags]:
    image = target.attributes
    body = {"registryId": image["registry_id"], "imageName": image["name"], "imageNamespace": image["namespace"]}
    answer = await context.caller.call(Request(containers.TAGS, body=body))
    tags = frozenset(tag.name for tag in usable(answer.value))
    return Answer(ImageTags(tags, target.watched), answer.date)


COLLECTOR: TargetCollector[ImageTags] = TargetCollector(
    name="container_tags",
    polls="image",
    interval=900,
    operations=(containers.TAGS,),
    fetch=_fetch,
    labels=(ACCOUNT, attribute("registry_id"), attribute("image_namespace", "namespace"), attribute("image", "name")),
    metrics=(
        Metric(
            "edge_container_image_tags",
            "Number of different tags of the container image (name), polled.",
            value=lambda image: len(image.tags),
        ),
        Metric(
            "edge_container_image_tag_present",
            "Whether a tag that the configuration watches exists (name), polled.",
            labels=("tag",),
            value=lambda image: {tag: tag in image.tags for tag in image.watched},
        ),
    ),
)
