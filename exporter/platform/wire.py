"""The base of the models of the answers' JSON, and how it is validated.

A wire model is tolerant. Unknown fields are ignored, missing and null fields are None, integers may arrive as `28.0`,
dates with seven digits of fraction or without a zone (which then means UTC). A number or a date that cannot be read is
None, too (`validated`). A value of another type fails the whole answer, except in a list of resources (`Each`), whose
items are validated one by one.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.alias_generators import to_camel, to_pascal
from pydantic_core import PydanticCustomError

from exporter.metric import LARGEST_COUNT

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

T = TypeVar("T")

DATE = re.compile(r"\d{4}-\d\d-\d\d($|[T ]\d\d:\d\d)", re.ASCII)
_DAY_FIRST = re.compile(r"\A(\d\d)-(\d\d)-(\d{4})\Z", re.ASCII)
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

    def has_error(self) -> bool:
        """Return whether it may report a failure; then the whole body is examined."""
        return False

    def is_missing(self) -> bool:
        """Return whether there is no payload."""
        return not self.model_fields_set


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


def known_as(field: str, values: Collection[int]) -> AfterValidator:
    """Return a validator that adds a field's name in the answer to the context if its value is none of these.

    Example: `Annotated[Integer, known_as("Status", NAMES)]`.
    """

    def note(value: int | None, info: ValidationInfo) -> int | None:
        if value is not None and value not in values and info.context is not None:
            info.context.add(field)
        return value

    return AfterValidator(note)


NonNegative = Annotated[Int64, Field(ge=0)] | None
# The id of a resource in a list. A platform sends 0 for a missing id.
Identity = Annotated[Int64, Field(ge=1)]
# A number of the interface: an integer is a number, `true` is not.
Number = Annotated[float, Field(strict=True)]
# A number that can be a count: not negative, and within 64 bits.
Counted = Annotated[float, Field(strict=True, ge=0, le=LARGEST_COUNT)]

# A date-time of the interface; without a zone it means UTC. An empty text counts as null.
Moment = Annotated[
    Annotated[datetime, AfterValidator(_as_utc)] | None, BeforeValidator(lambda value: None if value == "" else value)
]


@lru_cache(maxsize=8192)
def bucket_time(key: str) -> datetime | None:
    """Return the time at which a chart's bucket begins, in UTC; None if the key is not a date.

    Accepts `2026-02-08`, `2026-02-08T00:00:00`, with `Z` or an offset, with up to nine digits of fraction, and
    `08-02-2026`. Results are cached because all zones send the same keys.
    """
    key = _DAY_FIRST.sub(r"\3-\2-\1", key)
    if DATE.match(key) is None:
        return None
    try:
        moment = datetime.fromisoformat(key)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def timestamp(moment: datetime | None) -> float | None:
    """Convert to unix seconds; None stays None."""
    return None if moment is None else moment.timestamp()


def known(value: int | None, names: Mapping[int, str]) -> str | None:
    """Return the name of an enum value: `unknown` for an unknown value, None for None."""
    return None if value is None else names.get(value, UNKNOWN)


@dataclass(frozen=True, slots=True, eq=False)
class Unusable:
    """Replaces a list's item that is not valid; `fault` says why, `raw` is the item as received."""

    fault: str
    raw: Any = field(repr=False)

    def identity(self, field: str) -> int | None:
        """Return a field of the raw item, if it is an object with the id of a resource in that field."""
        value = self.raw.get(field) if isinstance(self.raw, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


# The beginnings of pydantic's words for a number and for a date that cannot be read.
_OF_NUMBERS = ("int_", "float_", "finite_number", "greater_than_equal", "less_than_equal")
_OF_DATES = "datetime_"
# A text in place of a number has the wrong type, unless it looks like a number.
_LIKE_A_NUMBER = re.compile(r"\d|^\s*[+-]?(nan|inf(inity)?)\s*$", re.ASCII | re.IGNORECASE)


def validated(validate: Callable[[Any], T], value: Any, unreadable: set[str]) -> T:  # noqa: ANN401 - JSON
    """Validate parsed JSON, in which each number or date that cannot be read becomes null.

    Args:
        validate: validates the value.
        value: the JSON, which is changed in place.
        unreadable: receives the names of the fields with such a number or date.

    Raises:
        ValidationError: there is a value of another type, or a field that may not be null cannot be read.
    """
    try:
        return validate(value)
    except ValidationError as error:
        is_mended = False
        for fault in error.errors(include_url=False, include_input=False, include_context=False):
            place = _unreadable(value, fault)
            if place is not None:
                holder, key = place
                holder[key] = None
                unreadable.add(_field_of(fault["loc"]))
                is_mended = True
        if not is_mended:
            raise
    return validate(value)


def _unreadable(value: Any, fault: "ErrorDetails") -> tuple[dict[Any, Any], str | int] | None:  # noqa: ANN401 - JSON
    """Return the object and the key of an unreadable number or date; of one in a list, those of the list.

    Returns None for any other fault: the value is of another type.
    """
    place = None
    for step in fault["loc"]:
        # Steps that are in no object or list are the names of a union's members.
        if isinstance(value, dict) and step in value:
            place = (value, step)
            value = value[step]
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
    is_of_date, is_of_number = fault["type"].startswith(_OF_DATES), fault["type"].startswith(_OF_NUMBERS)
    if isinstance(value, str):
        is_unreadable = is_of_date or (is_of_number and _LIKE_A_NUMBER.search(value) is not None)
    else:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_unreadable = is_number and (is_of_date or is_of_number)
    return place if is_unreadable else None


def _field_of(path: Sequence[str | int]) -> str:
    """Return the name of the outermost field of a path, inside an envelope's `data`; keys of charts are not names."""
    return next((step for step in path if isinstance(step, str) and step != "data"), "data")


def _one_by_one(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:  # noqa: ANN401
    try:
        return validated(handler, value, set() if info.context is None else info.context)
    except ValidationError as error:
        return Unusable(describe(error), value)


def describe(error: ValidationError) -> str:
    """Write pydantic's findings in one line: the place and what was expected, never the value found there."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    parts = [f"{'.'.join(str(step) for step in fault['loc']) or 'body'}: {fault['msg']}" for fault in found[:3]]
    return "; ".join(parts) + (f" (and {len(found) - 3} more)" if len(found) > 3 else "")  # noqa: PLR2004


# An item of a list that is validated separately: `list[Each[Zone]]`.
Each = Annotated[T, WrapValidator(_one_by_one)]


def usable(items: list[T] | None) -> list[T]:
    """Return the valid items."""
    return [item for item in items or () if not isinstance(item, Unusable)]


class Envelope(CamelWire, Generic[T]):
    """The object `{data, error}` around most shield payloads; an error of a status alone has neither field."""

    data: T | None = None
    error: Any = None

    def has_error(self) -> bool:
        """Return whether there is an error; beside a good payload, it may be an object of default values."""
        return self.error is not None

    def is_missing(self) -> bool:
        """Return whether there is no payload."""
        return self.data is None

    def payload(self) -> Any:  # noqa: ANN401
        """Return what is inside; a page of a list returns itself."""
        return self.data
