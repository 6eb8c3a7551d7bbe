"""Container registries: images and their tags, to which a nightly build is added every day."""

from dataclasses import dataclass
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
    tags: list[str]
    nightly: bool = False


class Images:
    """The images that the account's registries hold."""

    def __init__(self, clock: WorldClock) -> None:
        self._clock = clock
        self.images = [Image(**{**image, "tags": list(image["tags"])}) for image in seed("images")]
        self._unreachable: set[str] = set()

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
            ConnectionError: the registry does not answer.
            KeyError: there is no such image.
        """
        if registry_id in self._unreachable:
            raise ConnectionError
        return self.known_tags(self._image(registry_id, namespace, name))

    def known_tags(self, image: Image) -> list[str]:
        """Return an image's tags, whether or not its registry can be reached."""
        today = day_number(self._clock.now())
        builds = range(today - _NIGHTLY_BUILDS + 1, today + 1) if image.nightly else ()
        return [*image.tags, *(f"nightly-{date_of(day):%Y%m%d}" for day in builds)]

    def _image(self, registry_id: str, namespace: str, name: str) -> Image:
        for image in self.images:
            if (image.registry_id, image.namespace, image.name) == (registry_id, namespace, name):
                return image
        raise KeyError(f"{registry_id}/{namespace}/{name}")
