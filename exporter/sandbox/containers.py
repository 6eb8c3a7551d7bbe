"""Container registries: images and their tags, to which a nightly build is added every day."""

from dataclasses import dataclass, field
from typing import Final

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.seed import seed
from exporter.sandbox.timestamps import date_of, day_number

_NIGHTLY_BUILDS: Final = 14


@dataclass(slots=True)
class Image:
    """An image of a registry."""

    registry_id: str
    namespace: str
    name: str
    tags: list[str] = field(default_factory=list)
    nightly: bool = False


class RegistryUnreachableError(Exception):
    """The registry does not answer the platform."""


class Images:
    """The images that the account's registries hold."""

    def __init__(self, clock: WorldClock) -> None:
        self._clock = clock
        self._images = [Image(**{**image, "tags": list(image["tags"])}) for image in seed("images")]
        self._unreachable: set[str] = set()

    def images(self) -> list[Image]:
        """Return all images."""
        return list(self._images)

    def add_tag(self, registry_id: str, namespace: str, name: str, tag: str) -> None:
        """Add a tag to an image."""
        self._image(registry_id, namespace, name).tags.append(tag)

    def remove_tag(self, registry_id: str, namespace: str, name: str, tag: str) -> None:
        """Remove a tag from an image."""
        self._image(registry_id, namespace, name).tags.remove(tag)

    def set_reachable(self, registry_id: str, *, reachable: bool = True) -> None:
        """Set whether a registry answers the platform."""
        (self._unreachable.discard if reachable else self._unreachable.add)(registry_id)

    def tags(self, registry_id: str, namespace: str, name: str) -> list[str]:
        """Return the tags of an image.

        Raises:
            RegistryUnreachableError: the registry does not answer.
            KeyError: there is no such image.
        """
        if registry_id in self._unreachable:
            raise RegistryUnreachableError
        return self.known_tags(self._image(registry_id, namespace, name))

    def known_tags(self, image: Image) -> list[str]:
        """Return an image's tags, whether or not its registry can be reached."""
        if not image.nightly:
            return list(image.tags)
        today = day_number(self._clock.now())
        return [
            *image.tags,
            *(f"nightly-{date_of(day):%Y%m%d}" for day in range(today - _NIGHTLY_BUILDS + 1, today + 1)),
        ]

    def _image(self, registry_id: str, namespace: str, name: str) -> Image:
        for image in self._images:
            if (image.registry_id, image.namespace, image.name) == (registry_id, namespace, name):
                return image
        raise KeyError(f"{registry_id}/{namespace}/{name}")
