"""The settings as a whole."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator
from pydantic_core import InitErrorDetails
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from exporter.settings.account import AccountSettings, distinct
from exporter.settings.database import DatabaseSettings, distinct_queries
from exporter.settings.endpoint import EndpointSettings
from exporter.settings.endpoint_clashes import endpoint_clashes
from exporter.settings.section import Section, refused
from exporter.settings.service import (
    CollectorSettings,
    CollectorsSettings,
    LogSettings,
    SeriesSettings,
    ShardSettings,
    StateSettings,
    WebSettings,
)
from exporter.settings.types import Text

# The argument of `Settings` that holds layers; no section has this name.
_LAYERS = "layers"


class Settings(BaseSettings, Section):
    """All that can be set; made by `load` from flags, environment and file, in this precedence."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    accounts: tuple[AccountSettings, ...] = ()
    databases: tuple[DatabaseSettings, ...] = ()
    endpoints: tuple[EndpointSettings, ...] = ()
    endpoint_files: Annotated[
        tuple[Text, ...], Field(description="Files of further endpoints, each with a list under endpoints.")
    ] = ()
    collectors: CollectorsSettings = CollectorsSettings()
    series: SeriesSettings = SeriesSettings()
    web: WebSettings = WebSettings()
    state: StateSettings = StateSettings()
    shard: ShardSettings = ShardSettings()
    log: LogSettings = LogSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is the library's
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The layers that `of_layers` passes, or the values themselves; the process's environment is not read here."""
        given = init_settings.init_kwargs if isinstance(init_settings, InitSettingsSource) else {}
        layers = given.get(_LAYERS)
        return (init_settings,) if layers is None else tuple(InitSettingsSource(settings_cls, one) for one in layers)

    @classmethod
    def of_layers(cls, *layers: Mapping[str, object]) -> Self:
        """Merge layers of values into settings; a value of an earlier layer replaces that of a later one.

        Raises:
            pydantic.ValidationError: the merged values are refused.
        """
        values: dict[str, Any] = {_LAYERS: [dict(layer) for layer in layers]}
        return cls(**values)

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Names differ."""
        yield from distinct(raw, "accounts", "name")
        yield from distinct(raw, "databases", "name")
        yield from distinct_queries(raw)
        yield from endpoint_clashes(raw)

    def collector_settings(self) -> dict[str, CollectorSettings]:
        """The settings of every collector, of configured endpoints too, by a collector's `section`."""
        return self.collectors.by_name(self.endpoints)

    @model_validator(mode="after")
    def _has_something_to_do(self) -> Self:
        if not self.accounts and not self.databases:
            raise refused(
                "nothing to do: there is no account and no database; "
                "EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY suffice"
            )
        return self
