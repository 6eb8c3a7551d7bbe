"""The settings: all sections, which pydantic-settings merges from flags, environment and file."""

from pydantic import PrivateAttr
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from exporter.settings.sections import Sections
from exporter.validation.faults import Fault, KeyPath, written
from exporter.validation.yaml_file import Data, MarkedFile

_LAYERS = "_layers"


class Settings(BaseSettings, Sections):
    """All settings; `load` reads them from flags, environment and file.

    Args:
        above: the sections as flags and variables set them, the highest source first.
        file: the sections as in the file, the lowest source.
    """

    model_config = SettingsConfigDict(validate_default=False)
    _file: MarkedFile = PrivateAttr(default_factory=lambda: MarkedFile("", {}))

    def __init__(self, *above: Data, **file: object) -> None:
        super().__init__(**{_LAYERS: (*above, file)})  # type: ignore[arg-type] # the other parameters are options

    def come_from(self, file: MarkedFile) -> None:
        """Take over which line, flag or variable set each value."""
        self._file = file

    def place(self, path: KeyPath, message: str) -> str:
        """Return what is said of a value, after its place: `edge-exporter.yml:12: series.deny[0]: …`."""
        return str(Fault(*self._file.locate(path), written(path), message))

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: object, **__: object
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources, the highest first."""
        return tuple(InitSettingsSource(settings_cls, layer) for layer in init_settings()[_LAYERS])
