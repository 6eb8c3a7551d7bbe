"""The settings: all sections, which pydantic-settings merges from flags, environment and file."""

from collections.abc import Mapping, Sequence

from pydantic import PrivateAttr, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from exporter.settings.flag import DELIMITER, FIRST_ACCOUNT, FIRST_DATABASE, PREFIX, variable_of
from exporter.settings.origins import Origins
from exporter.settings.sections import Sections
from exporter.validation.faults import Fault, KeyPath, written
from exporter.validation.yaml_file import MarkedFile

Texts = Mapping[KeyPath, str | None]

_GIVEN = "_given"
# Stands for the first place of a list while it is merged; no file has this key, as lone surrogates are refused.
_FIRST = "\udc00"
# The lists whose only item flags and variables complete, with its name if they alone describe it.
_NAMES = {FIRST_ACCOUNT[0]: "main", FIRST_DATABASE[0]: "default"}
# A secret replaces the file of a secret in a lower source, and the other way around.
_PAIRS = {"api_key": "api_key_file", "api_key_file": "api_key", "auth_token": "auth_token_file"}


class Settings(BaseSettings, Sections):
    """All settings; `load` reads them from flags, environment and file.

    Args:
        above: the values of flags and of variables by their places, the highest source first.
        values: the sections as in the file, the lowest source.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter=DELIMITER,
        enable_decoding=False,
        validate_default=False,
    )

    def __init__(self, above: Sequence[Texts] = (), /, **values: object) -> None:
        super().__init__(**{_GIVEN: (above, values)})  # type: ignore[arg-type] # the other parameters are options

    _origins: Origins = PrivateAttr(default_factory=lambda: Origins(MarkedFile("", {}), {}))

    def come_from(self, origins: Origins) -> None:
        """Take over which file, flag or variable set each value."""
        self._origins = origins

    def place(self, path: KeyPath, message: str) -> str:
        """Return what is said of a value, after its place: `edge-exporter.yml:12: series.deny[0]: …`."""
        return str(Fault(*self._origins.locate(path), written(path), message))

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: object, **__: object
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources, the highest first; an only account or database is merged as a mapping by its place."""
        above, file = init_settings().pop(_GIVEN)
        merged = {str(path[0]) for texts in above for path in texts} & _NAMES.keys()
        lists = {kind: file.get(kind) or [{"name": _NAMES[kind]}] for kind in merged}
        placed = {kind: {_FIRST: listed[0]} for kind, listed in lists.items()}
        return (*(_variables(settings_cls, texts) for texts in above), InitSettingsSource(settings_cls, file | placed))

    @model_validator(mode="before")
    @classmethod
    def _listed(cls, data: object) -> object:
        """Make a list of an account or database that was merged by its place."""
        if not isinstance(data, Mapping):
            return data
        placed = {kind: data[kind] for kind in _NAMES if isinstance(data.get(kind), Mapping)}
        return {**data, **{kind: [one[_FIRST]] for kind, one in placed.items() if set(one) == {_FIRST}}}


def _variables(settings_cls: type[BaseSettings], texts: Texts) -> EnvSettingsSource:
    """Return a source of values by the names of their variables, which pydantic-settings splits into keys."""
    replaced: Texts = {(*path[:-1], _PAIRS[str(path[-1])]): None for path in texts if path[-1] in _PAIRS}
    source = EnvSettingsSource(settings_cls)
    values = {
        tuple(_FIRST if step == 0 else step for step in path): text for path, text in {**replaced, **texts}.items()
    }
    source.env_vars = {variable_of(*path).lower(): text for path, text in values.items()}
    return source
