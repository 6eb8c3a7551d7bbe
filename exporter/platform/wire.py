"""The base classes, types and validation of wire models. A wire model describes the JSON of an answer.

A wire model is tolerant. Unknown fields are ignored, and most fields may be missing or null. Integers may arrive as
`28.0`, and texts as numbers; dates may have seven digits of fraction, or no zone, which means UTC. A number or a date
that cannot be read, or is out of range, becomes null (`validated`). Other faults make the answer invalid; a fault in an
item of a list of `Each` makes the item invalid, but not the answer.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

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

T = TypeVar("T")


class Wire(BaseModel):
    """The base class of wire models."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        allow_inf_nan=False,
        coerce_numbers_to_str=True,
        # The input may contain a secret.
        hide_input_in_errors=True,
        validate_by_alias=True,
        # A validator is built at its first use, because a process does not use all models.
        defer_build=True,
    )

    def has_error(self) -> bool:
        """Return whether the answer may report a failure; if True, the whole body is searched for a failure."""
        return False

    def is_missing(self) -> bool:
        """Return whether the answer has no payload: no field of the model."""
        return not self.model_fields_set


class PascalWire(Wire):
    """An object whose fields are written `LikeThis`."""

    model_config = ConfigDict(alias_generator=to_pascal)


class CamelWire(Wire):
    """An object whose fields are written `likeThis`."""

    model_config = ConfigDict(alias_generator=to_camel)


def _with_zone(moment: datetime) -> datetime | None:
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    # Some platforms send a time in year 1 for "never".
    return aware if aware.year > 1 else None


def _refuse_boolean(value: object) -> object:
    """Refuse a boolean, which pydantic would accept as 0 or 1."""
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    return value


# At most 64 bits, because a larger integer could overflow in later conversions.
Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1), BeforeValidator(_refuse_boolean)]
Integer = Int64 | None
NonNegative = Annotated[Int64, Field(ge=0)] | None


def enum_of(field: str, values: Collection[int]) -> AfterValidator:
    """Return a validator that adds `field` to the context if an integer is not in `values`; the integer is accepted."""

    def report_unknown(value: int | None, info: ValidationInfo) -> int | None:
        if value is not None and value not in values and info.context is not None:
            info.context.add(field)
        return value

    return AfterValidator(report_unknown)


# The id of a resource in a list. 0 is not valid: platforms send 0 for a missing id.
Identity = Annotated[Int64, Field(ge=1)]
# A number with or without a fraction; `true` and texts are no numbers.
Number = Annotated[float, Field(strict=True)]
# A number that can be a count: not negative, and within 64 bits.
Counted = Annotated[float, Field(strict=True, ge=0, le=LARGEST_COUNT)]

# A date with a time, in UTC if no zone is given. An empty text means null.
Moment = Annotated[
    Annotated[datetime, AfterValidator(_with_zone)] | None,
    BeforeValidator(lambda value: None if value == "" else value),
]


def timestamp(moment: datetime | None) -> float | None:
    """Convert a time to unix seconds; None stays None."""
    return None if moment is None else moment.timestamp()


@dataclass(frozen=True, slots=True, eq=False)
class Unusable:
    """An invalid item of a list of `Each`: why the item is invalid, and its JSON."""

    fault: str
    raw: Any = field(repr=False)

    def identity(self, field: str) -> int | None:
        """Return the id in a field of the item; None if the field does not hold a positive integer."""
        value = self.raw.get(field) if isinstance(self.raw, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


# The prefixes of pydantic's error types for numbers and for dates that cannot be read.
_NUMBER_ERRORS = ("int_", "float_", "finite_number", "greater_than_equal", "less_than_equal")
_DATE_ERRORS = "datetime_"
# A text with a digit, NaN or infinity looks like a number. Any other text instead of a number has the wrong type.
_LIKE_A_NUMBER = re.compile(r"\d|^\s*[+-]?(nan|inf(inity)?)\s*$", re.ASCII | re.IGNORECASE)
# The highest number of faults that an error's message describes.
_MOST_DESCRIBED = 3


def validated(validate: Callable[[Any], T], value: Any, unreadable: set[str]) -> T:  # noqa: ANN401 - JSON
    """Validate parsed JSON. If that fails, replace unreadable numbers and dates by null, and validate again.

    A number that is out of range also counts as unreadable. A list with an unreadable number or date becomes null.

    Args:
        validate: validates the JSON with pydantic.
        value: the JSON, in which numbers and dates are replaced.
        unreadable: receives the names of the fields with replaced values.

    Raises:
        ValidationError: the JSON is not valid, even after replacements.
    """
    try:
        return validate(value)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False, include_context=False):
            place = _place_of(value, fault["loc"])
            if place.holder is not None and _is_unreadable(place.value, fault["type"]):
                place.holder[place.key] = None
                unreadable.add(_field_of(fault["loc"]))
    return validate(value)


class _Place(NamedTuple):
    """The place of a fault in parsed JSON.

    Attributes:
        value: the value that is not valid.
        holder: the innermost object that contains the value, directly or in a list; None if there is no object.
        key: the key in `holder` of the value, or of the list with the value.
    """

    value: Any
    holder: dict[Any, Any] | None
    key: str | int


def _place_of(document: Any, path: Sequence[str | int]) -> _Place:  # noqa: ANN401 - JSON
    place = _Place(document, None, "")
    for step in path:
        # The path also contains names of the members of unions, which are no keys.
        if isinstance(place.value, dict) and step in place.value:
            place = _Place(place.value[step], place.value, step)
        elif isinstance(place.value, list) and isinstance(step, int):
            place = place._replace(value=place.value[step])
    return place


def _is_unreadable(value: object, error_type: str) -> bool:
    """Return whether a fault is about an unreadable number or date, and not about a value of another type."""
    is_date_error = error_type.startswith(_DATE_ERRORS)
    is_number_error = error_type.startswith(_NUMBER_ERRORS)
    if isinstance(value, str):
        return is_date_error or (is_number_error and _LIKE_A_NUMBER.search(value) is not None)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and (is_date_error or is_number_error)


def _field_of(path: Sequence[str | int]) -> str:
    """Return the outermost field in a fault's path that is not the `data` of an envelope; `data` if there is none."""
    return next((step for step in path if isinstance(step, str) and step != "data"), "data")


def _validate_item(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:  # noqa: ANN401
    try:
        return validated(handler, value, set() if info.context is None else info.context)
    except ValidationError as error:
        return Unusable(describe(error), value)


def describe(error: ValidationError) -> str:
    """Describe the first faults: where, and what was expected, but no values. Count the further faults."""
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    parts = []
    for fault in faults[:_MOST_DESCRIBED]:
        place = ".".join(map(str, fault["loc"])) or "body"
        parts.append(f"{place}: {fault['msg']}")
    left_out = len(faults) - len(parts)
    return "; ".join(parts) + (f" (and {left_out} more)" if left_out else "")


# The type of the items in a list such as `list[Each[Zone]]`: an invalid item becomes `Unusable`.
Each = Annotated[T, WrapValidator(_validate_item)]


def usable(items: list[T] | None) -> list[T]:
    """Return the valid items of a list of `Each`; None counts as an empty list."""
    return [item for item in items or () if not isinstance(item, Unusable)]


class Envelope(CamelWire, Generic[T]):
    """The object `{data, error}` around most shield payloads. A failure may have a `statusCode` instead of both."""

    data: T | None = None
    error: Any = None

    def has_error(self) -> bool:
        """Return whether there is an `error`; a good answer has none, or one with default values."""
        return self.error is not None

    def is_missing(self) -> bool:
        """Return whether the answer has no payload."""
        return self.data is None

    def payload(self) -> Any:  # noqa: ANN401
        """Return the payload, which is `data`; a page of a list returns itself instead."""
        return self.data
