"""The settings as a whole, merged from their sources."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from exporter.settings.sections import Sections

# The argument of `Settings` that holds layers; no section has this name.
_LAYERS = "layers"


class Settings(BaseSettings, Sections):
    """All that can be set; made by `load` from flags, environment and file, in this precedence."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

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
