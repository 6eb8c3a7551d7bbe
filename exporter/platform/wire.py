"""The base of all wire models: tolerant parsing, and names for unknown values.

Unknown fields are ignored, missing and null fields are None, integers may arrive as `28.0`, dates with seven digits of
fraction or without a zone (which then means UTC). A value of another type fails the whole answer, except in a list of
resources (`Each`), whose items are validated one by one.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.alias_generators import to_camel, to_pascal
from pydantic_core import PydanticCustomError

from exporter.metric import as_count

T = TypeVar("T")

UNKNOWN = "unknown"
# For adapters of types without their own configuration: built at the first use.
DEFERRED = ConfigDict(defer_build=True)
_SHARED = ConfigDict(
    frozen=True,
    extra="ignore",
    allow_inf_nan=False,
    coerce_numbers_to_str=True,
    hide_input_in_errors=True,
    validate_by_alias=True,
    defer_build=True,
)


class Wire(BaseModel):
    """A documented JSON object."""

    model_config = _SHARED

    # Field name → its known values.
    enums: ClassVar[Mapping[str, Mapping[int, str]]] = {}
    # The fields that are counts; a negative one is left out.
    counts: ClassVar[tuple[str, ...]] = ()

    def failure(self) -> "EnvelopeFault | None":
        """Return the failure that this payload reports; None if its shape cannot report one."""
        return None

    def unexpected(self) -> Iterator[str]:
        """Return the wire names of fields that hold an unknown value, or a number that is no count."""
        for field in (*self.enums, *self.counts):
            value = getattr(self, field)
            is_known = as_count(value) is not None if field in self.counts else value in self.enums[field]
            if value is not None and not is_known:
                yield type(self).model_fields[field].alias or field


def unexpected_in(value: object) -> Iterator[str]:
    """Return the wire names of fields in a payload that hold an unknown value."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, Wire):
            yield from item.unexpected()


class PascalWire(Wire):
    """An object whose fields are written `LikeThis`."""

    model_config = ConfigDict(alias_generator=to_pascal)


class CamelWire(Wire):
    """An object whose fields are written `likeThis`."""

    model_config = ConfigDict(alias_generator=to_camel)


def _as_utc(moment: datetime) -> datetime | None:
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    # Some platforms write "never" as year 1.
    return aware if aware.year > 1 else None


def _no_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    return value


# An integer of the interface: 64 bits, so that later conversions cannot overflow.
Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1), BeforeValidator(_no_boolean)]
Integer = Int64 | None
# The id of a resource in a list. A platform sends 0 for a missing id.
Identity = Annotated[Int64, Field(ge=1)]
# A number of the interface: an integer is a number, `true` is not.
Number = Annotated[float, Field(strict=True)]


# A date-time of the interface; without a zone it means UTC. An empty text counts as null.
Moment = Annotated[
    Annotated[datetime, AfterValidator(_as_utc)] | None, BeforeValidator(lambda value: None if value == "" else value)
]


def timestamp(moment: datetime | None) -> float | None:
    """Convert to unix seconds; None stays None."""
    return None if moment is None else moment.timestamp()


def known(value: int | None, names: Mapping[int, str]) -> str | None:
    """Return the name of an enum value: `unknown` for an unknown value, None for None."""
    return None if value is None else names.get(value, UNKNOWN)


class Unusable:
    """Replaces a list's item that is not valid; `fault` says why, `raw` is the item as received."""

    __slots__ = ("fault", "raw")

    def __init__(self, fault: str, raw: Any) -> None:  # noqa: ANN401
        self.fault = fault
        self.raw = raw

    def identity(self, field: str) -> int | None:
        """Return a field of the raw item, if it is an object with the id of a resource in that field."""
        value = self.raw.get(field) if isinstance(self.raw, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _one_by_one(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:  # noqa: ANN401
    if isinstance(value, Unusable):
        return value  # an item of a long answer, validated while the answer arrived
    try:
        return handler(value)
    except ValidationError as error:
        return Unusable(describe(error), value)


def describe(error: ValidationError) -> str:
    """Write pydantic's findings in one line: the place and what was expected, never the value found there."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    parts = [f"{'.'.join(str(step) for step in fault['loc']) or 'body'}: {fault['msg']}" for fault in found[:3]]
    return "; ".join(parts) + (f" (and {len(found) - 3} more)" if len(found) > 3 else "")  # noqa: PLR2004


_RANGE_FAULTS = frozenset({"greater_than_equal", "less_than_equal", "finite_number", "int_parsing_size"})


def is_out_of_range(error: ValidationError) -> bool:
    """Return whether every finding is a number of the right type outside of its field's range."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return all(fault["type"] in _RANGE_FAULTS for fault in found)


# An item of a list that is validated separately: `list[Each[Zone]]`.
Each = Annotated[T, WrapValidator(_one_by_one)]


def usable(items: list[T] | None) -> list[T]:
    """Return the valid items."""
    return [item for item in items or () if not isinstance(item, Unusable)]


class EnvelopeFault(CamelWire):
    """The `error` object of an envelope (interface document, Shield envelope)."""

    success: bool | None = None
    message: str | None = None
    error_key: str | None = None
    status_code: Integer = None

    def is_failure(self) -> bool:
        """Return whether it reports a failure; an object of defaults next to a good payload does not."""
        return self.success is not True and bool(self.message or self.error_key)


class Envelope(CamelWire, Generic[T]):
    """`{data, error}`, around most shield payloads; the status-only error has `statusCode` instead."""

    data: T | None = None
    error: EnvelopeFault | None = None
    status_code: Integer = None

    @classmethod
    def model_rebuild(cls, **options: Any) -> bool | None:  # noqa: ANN401 - pydantic's
        """Build the validator, except for an envelope of `Any`, which is never used for reading.

        Pydantic asks for it at import, for each envelope of something, and loads its plugins for it.
        """
        return None if cls is Envelope else super().model_rebuild(**options)

    def unexpected(self) -> Iterator[str]:
        """Return the names of fields with an unknown value in the payload or its items."""
        return unexpected_in(self.data)

    def is_empty(self) -> bool:
        """Return whether the absence of a payload is valid, which only a list can report."""
        return False

    def payload(self) -> Any:  # noqa: ANN401
        """Return what is inside; a page of a list returns itself."""
        return self.data
