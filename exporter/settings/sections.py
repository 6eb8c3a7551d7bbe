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
    SECTIONS,
    CollectorSettings,
    CollectorsSettings,
    LogSettings,
    SeriesSettings,
    ShardSettings,
    StateSettings,
    WebSettings,
    stale_too_early,
)
from exporter.targets.sharding import Shard
from exporter.validation.faults import unknown_key
from exporter.validation.section import Section, at, duplicates, named, refuse_any, refused
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
        """Refuse names of accounts, databases and queries that are used twice, and sections of unknown collectors."""
        for key in ("accounts", "databases"):
            yield from duplicates(named(raw, key, "name"), "name")
        yield from duplicate_queries(raw)
        known = [*SECTIONS, *(str(name) for _, name in named(raw, "endpoints", "name"))]
        collectors = raw.get("collectors")
        for name in collectors if isinstance(collectors, Mapping) else ():
            if name not in known:
                yield at(("collectors", name), refused(unknown_key(name, known)))

    def own_shard(self, host_name: str) -> Shard | None:
        """Return the shard that the configuration or the host name gives; None if the state database does.

        Raises ShardOrdinalError as `ShardSettings.shard` does.
        """
        is_found = self.shard.index == "auto" and self.state.is_shared
        return None if is_found else self.shard.shard(host_name)

    def collector_settings(self) -> dict[str, CollectorSettings]:
        """Return the settings of every collector and configured endpoint, by the collector's `section`."""
        own = {endpoint.name: self.collectors.of_endpoint(endpoint) for endpoint in self.endpoints}
        return {**{name: getattr(self.collectors, name) for name in SECTIONS}, **own}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        refuse_any(endpoint_names(self.endpoints))
        for endpoint in self.endpoints:
            path = ("collectors", endpoint.name, "stale_after")
            given = self.collectors.of_endpoint(endpoint)
            refuse_any(stale_too_early(path, given.interval, given.stale_after))
        return self

    @model_validator(mode="after")
    def _has_something_to_do(self) -> Self:
        if not self.accounts and not self.databases:
            raise refused(
                "nothing to do: there is no account and no database; "
                "EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY suffice"
            )
        return self
