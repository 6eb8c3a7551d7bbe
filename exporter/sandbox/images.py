"""Container images and their tags."""

from typing import Final

from exporter.sandbox.seed import seed
from exporter.sandbox.timestamps import date_of, day_number
from exporter.sandbox.world_clock import WorldClock

_NIGHTLY_TAGS_KEPT: Final = 14


class Images:
    """The account's container images; some get the tag of a nightly build every day.

    `tags` and `remove_tag` raise KeyError for an unknown image, `remove_tag` also for a tag that cannot be removed.
    """

    def __init__(self, clock: WorldClock) -> None:
        self._clock = clock
        row_by_image = {(row["registry_id"], row["namespace"], row["name"]): row for row in seed("images")}
        # Image → its tags without nightly builds. The tags are keys, because `del` of a missing key raises KeyError.
        self._tags = {image: dict.fromkeys(row["tags"]) for image, row in row_by_image.items()}
        self._images_with_builds = {image for image, row in row_by_image.items() if row.get("nightly")}

    def remove_tag(self, registry_id: str, namespace: str, name: str, tag: str) -> None:
        """Remove a tag from an image; the tags of nightly builds cannot be removed."""
        del self._tags[registry_id, namespace, name][tag]

    def tags(self, registry_id: str, namespace: str, name: str) -> list[str]:
        """Return the tags of an image."""
        image = (registry_id, namespace, name)
        today = day_number(self._clock.now())
        build_days = range(today - _NIGHTLY_TAGS_KEPT + 1, today + 1) if image in self._images_with_builds else ()
        return [*self._tags[image], *(f"nightly-{date_of(day):%Y%m%d}" for day in build_days)]

    def all(self) -> list[tuple[str, str, str, list[str]]]:
        """Return every image: the registry's id, the namespace, the name, and the tags."""
        return [(*image, self.tags(*image)) for image in self._tags]
