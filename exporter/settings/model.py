"""The settings as one model, which pydantic-settings merges from flags, environment and file."""

import socket
from collections.abc import Iterator

from pydantic import Field, PrivateAttr
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from exporter.collectors.endpoints.endpoint import Endpoint
from exporter.collectors.endpoints.names import wrong_names
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.service import (
    SECTIONS,
    CollectorSettings,
    CollectorsSettings,
    LogSettings,
    SeriesSettings,
    ShardSettings,
    StateSettings,
    WebSettings,
)
from exporter.settings.targets import ThresholdSettings
from exporter.targets.sharding import Shard
from exporter.validation.configuration_errors import ConfigurationFault, KeyPath, suggestion
from exporter.validation.section import Conflict, Section, duplicates
from exporter.validation.types import OptionalUrl, format_duration
from exporter.validation.yaml_file import Data, MarkedFile

_LAYERS = "_layers"


class Settings(BaseSettings, Section):
    """All settings; `load` reads them from flags, environment and file.

    Args:
        above: the sections from flags and variables, which have priority over those of the file.
        file: where the values were set.
        sections: the sections of the file.
    """

    model_config = SettingsConfigDict(validate_default=False)  # defaults are values already, not texts

    accounts: tuple[AccountSettings, ...] = ()
    databases: tuple[DatabaseSettings, ...] = ()
    endpoints: tuple[Endpoint, ...] = Field(default=(), max_length=5000)
    dashboard_url: OptionalUrl = Field(
        default=None, description="The address of Grafana, for links to the shipped dashboards from a target's page."
    )
    thresholds: tuple[ThresholdSettings, ...] = Field(
        default=(), description="Thresholds of alerts for some targets, in place of those in the rules."
    )
    collectors: CollectorsSettings = CollectorsSettings()
    series: SeriesSettings = SeriesSettings()
    web: WebSettings = WebSettings()
    state: StateSettings = StateSettings()
    shard: ShardSettings = ShardSettings()
    log: LogSettings = LogSettings()
    _file: MarkedFile = PrivateAttr()

    def __init__(self, above: Data | None = None, file: MarkedFile | None = None, /, **sections: object) -> None:
        # pydantic-settings passes the argument `_layers` on to `settings_customise_sources`.
        super().__init__(**{_LAYERS: (above or {}, sections)})  # type: ignore[arg-type] # mistaken for an option
        self._file = file or MarkedFile()

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: object, **__: object
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return a source for each of the two layers that `__init__` passes; the first has priority."""
        return tuple(InitSettingsSource(settings_cls, layer) for layer in init_settings()[_LAYERS])

    def conflicts(self) -> Iterator[Conflict]:
        """Require an account or a database; check the names, shard, thresholds and collectors."""
        if not self.accounts and not self.databases:
            hint = "EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY define an account"
            yield (), f"nothing to do: there is no account and no database; {hint}"
        yield from wrong_names(self.endpoints)
        yield from self._duplicate_names()
        try:
            self.own_shard()
        except ValueError as error:
            yield ("shard", "index"), str(error)
        accounts = {account.name for account in self.accounts}
        for place, threshold in enumerate(self.thresholds):
            if threshold.account not in (None, *accounts):
                yield ("thresholds", place, "account"), f"there is no account '{threshold.account}'"
        yield from self._collector_conflicts()

    def _duplicate_names(self) -> Iterator[Conflict]:
        for kind in ("accounts", "databases"):
            yield from duplicates(((kind, place, "name"), one.name) for place, one in enumerate(getattr(self, kind)))
        # Two queries of one name would be one metric, even in two databases.
        yield from duplicates(
            (("databases", outer, "queries", inner, "name"), query.name)
            for outer, database in enumerate(self.databases)
            for inner, query in enumerate(database.queries)
        )

    def _collector_conflicts(self) -> Iterator[Conflict]:
        known = [*SECTIONS, *(endpoint.name for endpoint in self.endpoints)]
        for name in self.collectors.__pydantic_extra__ or {}:
            if name not in known:
                yield ("collectors", name), f"unknown key{suggestion(name, known)}"
        own_intervals = [query.interval or 0.0 for database in self.databases for query in database.queries]
        longest_of_queries = max(own_intervals, default=0.0)
        for name, collector in self.collector_settings().items():
            longest = max(collector.interval, longest_of_queries if name == "database" else 0.0)
            # With a shorter `stale_after`, series would end before the next poll.
            if collector.stale_after is not None and collector.stale_after < longest:
                found, expected = format_duration(collector.stale_after), format_duration(longest)
                message = f"found {found}, expected at least the longest interval of the collector's polls ({expected})"
                yield ("collectors", name, "stale_after"), message

    def origin(self, *paths: KeyPath) -> str:
        """Return which line, variable or flag sets the first of these paths that is set; `default` if none is set."""
        return next((str(self._file.places[path]) for path in paths if path in self._file.places), "default")

    def fault(self, path: KeyPath, message: str) -> ConfigurationFault:
        """Return a fault of the value at a path."""
        return self._file.fault(path, message)

    def own_shard(self) -> Shard | None:
        """Return the shard that the configuration or the host name gives; None if the state database assigns one.

        Raises ValueError if the index or the host name cannot be used.
        """
        is_assigned = self.shard.index == "auto" and self.state.is_shared
        return None if is_assigned else self.shard.shard(socket.gethostname())

    def collector_settings(self) -> dict[str, CollectorSettings]:
        """Return `Collector.section` → settings, for the collectors and the configured endpoints."""
        of_endpoints = {endpoint.name: self.collectors.of_endpoint(endpoint) for endpoint in self.endpoints}
        return {**{name: getattr(self.collectors, name) for name in SECTIONS}, **of_endpoints}
