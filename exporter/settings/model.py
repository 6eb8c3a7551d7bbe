"""The settings as a whole."""

from collections.abc import Iterator, Mapping
from typing import Self

from pydantic import model_validator
from pydantic_core import InitErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from exporter.settings.account import AccountSettings, distinct
from exporter.settings.database import DatabaseSettings, distinct_queries
from exporter.settings.section import Section, refused
from exporter.settings.service import (
    CollectorsSettings,
    LogSettings,
    SeriesSettings,
    ShardSettings,
    StateSettings,
    WebSettings,
)


class Settings(BaseSettings, Section):
    """All that can be set; made by `load` from flags, environment and file, in this precedence."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    accounts: tuple[AccountSettings, ...] = ()
    databases: tuple[DatabaseSettings, ...] = ()
    collectors: CollectorsSettings = CollectorsSettings()
    series: SeriesSettings = SeriesSettings()
    web: WebSettings = WebSettings()
    state: StateSettings = StateSettings()
    shard: ShardSettings = ShardSettings()
    log: LogSettings = LogSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is the library's
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Nothing but what is passed: the process's environment is read by `load` alone, from what it is given."""
        return (init_settings,)

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Names differ."""
        yield from distinct(raw, "accounts", "name")
        yield from distinct(raw, "databases", "name")
        yield from distinct_queries(raw)

    @model_validator(mode="after")
    def _has_something_to_do(self) -> Self:
        if not self.accounts and not self.databases:
            raise refused(
                "nothing to do: there is no account and no database; "
                "EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY suffice"
            )
        return self
