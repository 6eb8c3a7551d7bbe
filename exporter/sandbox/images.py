"""Container images and their tags; some images get the tag of a nightly build every day."""

from typing import Final

from exporter.sandbox.seed import seed
from exporter.sandbox.timestamps import date_of, day_number
from exporter.sandbox.world_clock import WorldClock

_NIGHTLY_BUILDS: Final = 14


class Images:
    """The images in the account's registries, by the registry's id, the namespace and the name."""

    def __init__(self, clock: WorldClock) -> None:
        self._clock = clock
        named = {(one["registry_id"], one["namespace"], one["name"]): one for one in seed("images")}
        self._tags = {image: list(one["tags"]) for image, one in named.items()}
        self._nightly = {image for image, one in named.items() if one.get("nightly")}

    def remove_tag(self, registry_id: str, namespace: str, name: str, tag: str) -> None:
        """Remove a tag from an image."""
        self._tags[registry_id, namespace, name].remove(tag)

    def tags(self, registry_id: str, namespace: str, name: str) -> list[str]:
        """Return the tags of an image; raises KeyError if there is no such image."""
        image = (registry_id, namespace, name)
        today = day_number(self._clock.now())
        builds = range(today - _NIGHTLY_BUILDS + 1, today + 1) if image in self._nightly else ()
        return [*self._tags[image], *(f"nightly-{date_of(day):%Y%m%d}" for day in builds)]

    def all(self) -> list[tuple[str, str, str, list[str]]]:
        """Return every image: the registry's id, the namespace, the name, and the tags."""
        return [(*image, self.tags(*image)) for image in self._tags]
