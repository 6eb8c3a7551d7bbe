"""The settings: all sections, which pydantic-settings reads from flags, environment and file."""

from collections.abc import Mapping

from pydantic import model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from exporter.settings.flag import DELIMITER, FIRST_ACCOUNT, FIRST_DATABASE, PREFIX
from exporter.settings.sections import Sections

_SOURCES = "_sources"


class Settings(BaseSettings, Sections):
    """All settings; `load` reads them from flags, environment and file.

    Args:
        sources: where values are read, the highest first; without any, the settings are the given values.
        values: sections by their names.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter=DELIMITER,
        enable_decoding=False,
        validate_default=False,
        arbitrary_types_allowed=False,
    )

    def __init__(self, sources: tuple[PydanticBaseSettingsSource, ...] = (), /, **values: object) -> None:
        super().__init__(**{**values, _SOURCES: sources})  # type: ignore[arg-type] # the other parameters are options

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - passed by pydantic-settings
        init_settings: PydanticBaseSettingsSource,
        *_: object,
        **__: object,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources that were passed, or the given values."""
        sources: tuple[PydanticBaseSettingsSource, ...] = init_settings().pop(_SOURCES)
        return sources or (init_settings,)

    @model_validator(mode="before")
    @classmethod
    def _listed(cls, data: object) -> object:
        """Make a list of the account or database that sources have merged by its place."""
        if not isinstance(data, Mapping):
            return data
        merged = {
            kind: [value[str(place)]]
            for kind, place in (FIRST_ACCOUNT, FIRST_DATABASE)
            if isinstance(value := data.get(str(kind)), Mapping) and set(value) == {str(place)}
        }
        return {**data, **merged}
