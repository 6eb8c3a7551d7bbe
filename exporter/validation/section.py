"""The base model of a part of a configuration: strict, frozen, and reporting all of its faults at once."""

from collections.abc import Iterable, Iterator, Mapping
from types import NoneType
from typing import Self, get_args

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from exporter.validation.faults import KeyPath, Place, written
from exporter.validation.messages import EXPECTED, WORDED, worded


def expected(what: str) -> PydanticCustomError:
    """Return an error that shows the value and what was expected."""
    return PydanticCustomError(EXPECTED, "expected {message}", {"message": what})


def refused(message: str, place: Place | None = None) -> PydanticCustomError:
    """Return an error that does not show the value: it is secret, or would not help.

    `place` is the place of the fault if it is in another file, which the value names.
    """
    return PydanticCustomError(WORDED, "{message}", {"message": message, "place": place})


def at(path: KeyPath, error: PydanticCustomError) -> InitErrorDetails:
    """Place an error at a path below the section that reports it."""
    return InitErrorDetails(type=error, loc=path, input=None)


def refuse_any(errors: Iterable[InitErrorDetails]) -> None:
    """Raise the errors of a valid section that break a rule between its keys, if there are any."""
    if found := list(errors):
        raise ValidationError.from_exception_data("conflicts", found)


def broken(*rules: tuple[object, str, str]) -> Iterator[InitErrorDetails]:
    """Yield an error for each rule that is broken; a rule is whether it is broken, the key, and the message."""
    return (at((key,), refused(message)) for is_broken, key, message in rules if is_broken)


def named(raw: Mapping[str, object], key: str, name: str) -> list[tuple[KeyPath, object]]:
    """Return the place of each item of a raw list, and the item's name."""
    listed = enumerate(items(raw.get(key)))
    return [((key, place), item.get(name)) for place, item in listed if isinstance(item, Mapping)]


def items(value: object) -> list[object]:
    """Return the items of a raw list; none for any other value, which another check reports."""
    return list(value) if isinstance(value, list | tuple) else []


def duplicates(entries: Iterable[tuple[KeyPath, object]], key: str = "") -> Iterator[InitErrorDetails]:
    """Refuse a text that occurs twice in a list of places and texts; other checks report mappings and lists in it.

    `key` is the key of the text below its place; empty if the text is at the place itself.
    """
    seen: dict[str, KeyPath] = {}
    for place, value in entries:
        if value is None or isinstance(value, Mapping | list):
            continue
        text = str(value).strip()
        if text in seen:
            path = (*place, key) if key else place
            yield at(path, refused(f"duplicate '{text[:60]}', first in {written(seen[text])}"))
        seen.setdefault(text, place)


class Section(BaseModel):
    """A part of a configuration.

    A key without a value counts as missing, unless it may be null. `cross_check` reads the data before it is validated,
    so that conflicts between keys are reported together with faults in single keys.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:  # noqa: ARG003 - for those who override it
        """Yield the conflicts between the keys of this section."""
        return iter(())

    @model_validator(mode="wrap")
    @classmethod
    def _report_every_fault(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(data, Mapping):
            return handler(data)
        given = {key: value for key, value in data.items() if value is not None or cls._may_be_null(key)}
        errors: list[InitErrorDetails] = []
        section: Self | None = None
        try:
            section = handler(given)
        except ValidationError as error:
            errors += (worded(details, cls) for details in error.errors(include_url=False))
        known = {error.get("loc", ()) for error in errors}
        errors += (error for error in cls.cross_check(given) if error.get("loc", ()) not in known)
        if errors or section is None:
            raise ValidationError.from_exception_data(cls.__name__, errors)
        return section

    @classmethod
    def _may_be_null(cls, key: str) -> bool:
        field = cls.model_fields.get(key)
        return field is None or NoneType in get_args(field.annotation)
