"""All sections of the settings, and the conflicts between them."""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Self

from pydantic import Field, model_validator
from pydantic_core import InitErrorDetails

from exporter.collectors.endpoints.endpoint import Endpoint
from exporter.settings.account import AccountSettings, DatabaseSettings, duplicate_queries
from exporter.settings.endpoint_names import endpoint_names
from exporter.settings.removed import REMOVED
from exporter.settings.service import (
    CollectorSettings,
    CollectorsSettings,
    LogSettings,
    SeriesSettings,
    ShardSettings,
    StateSettings,
    WebSettings,
)
from exporter.validation.section import Section, at, duplicates, named, peek, refused
from exporter.validation.types import Text


class Sections(Section):
    """All sections.

    Defaults are not validated, here and in the sections: help texts would then have to build the validators, too.
    """

    REMOVED: ClassVar[Mapping[str, str]] = REMOVED

    accounts: tuple[AccountSettings, ...] = ()
    databases: tuple[DatabaseSettings, ...] = ()
    endpoints: tuple[Endpoint, ...] = Field(default=(), max_length=5000)
    endpoint_files: tuple[Text, ...] = Field(
        default=(), description="Files of further endpoints, each with a list under endpoints."
    )
    collectors: CollectorsSettings = Field(default_factory=CollectorsSettings.model_construct)
    series: SeriesSettings = Field(default_factory=SeriesSettings.model_construct)
    web: WebSettings = Field(default_factory=WebSettings.model_construct)
    state: StateSettings = Field(default_factory=StateSettings.model_construct)
    shard: ShardSettings = Field(default_factory=ShardSettings.model_construct)
    log: LogSettings = Field(default_factory=LogSettings.model_construct)

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Refuse names that are used twice, and shards by leases without a shared database."""
        for key in ("accounts", "databases"):
            yield from duplicates(named(raw, key, "name"), "name")
        yield from duplicate_queries(raw)
        yield from endpoint_names(raw)
        is_shared = any(peek(raw.get("state"), key) is not None for key in ("url", "url_file"))
        if peek(raw.get("shard"), "index") == "lease" and not is_shared:
            yield at(("shard", "index"), refused("lease needs a database that all exporters share: set state.url_file"))

    def collector_settings(self) -> dict[str, CollectorSettings]:
        """Return the settings of every collector and configured endpoint, by the collector's `section`."""
        return self.collectors.by_name(self.endpoints)

    @model_validator(mode="after")
    def _has_something_to_do(self) -> Self:
        if not self.accounts and not self.databases:
            raise refused(
                "nothing to do: there is no account and no database; "
                "EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY suffice"
            )
        return self
