"""One documented operation: its request, its answer, and what a status means for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import TypeAdapter

from exporter.platform.long_json import Items

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Scalar = str | int | bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """A documented parameter.

    Attributes:
        name: as it is written on the wire.
        place: in the path, the query, or the JSON body.
        type: what it holds; `date-time` is text in ISO 8601.
        required: whether a request without it makes no sense.
        secret: whether its value may only come from standard input or a file.
        help: one sentence.
        allowed: the numbers that it takes, with their names; None where it takes any.
    """

    name: str
    place: Literal["path", "query", "body"]
    type: Literal["integer", "string", "boolean", "date-time", "json"]
    help: str
    required: bool = True
    secret: bool = False
    allowed: Mapping[int, str] | None = None


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """An operation of the interface document's endpoint table, or one that deployments are known to have beside it.

    Attributes:
        name: the `endpoint` label, and the word for it on the command line.
        answer: the type of the payload.
        enveloped: whether the payload stands in `{data, error}`.
        writes: whether it changes anything on the platform.
        absent: statuses that mean "there is none" and are no failure.
        documented: False for what only the notes on deployments tell of.
        items: the array of its answer that may be long; a long answer without one is refused beyond 50,000 values.
        recognisable: whether an answer that is the last one again may be passed over; False where several read it.
    """

    name: str
    method: Literal["GET", "POST", "PUT", "PATCH"]
    path: str
    help: str
    answer: TypeAdapter[T]
    parameters: tuple[Parameter, ...] = ()
    enveloped: bool = False
    writes: bool = False
    absent: frozenset[int] = field(default_factory=frozenset)
    documented: bool = True
    items: Items | None = None
    recognisable: bool = True


@dataclass(frozen=True, slots=True)
class Answer(Generic[T_co]):
    """A good answer.

    Attributes:
        value: the payload; None only where the status is among the operation's `absent` ones.
        date: the platform's time, from the `Date` header as far as that is believed; None where there is none.
        raw: the body as it came.
        seconds: from the request to the end of its answer: retries and the wait for the account's budget do not count;
            0 where the answer was made of others.
        is_recognised: whether it is the last answer again; its value is None then.
    """

    value: T_co
    date: datetime | None
    # A script's answer holds its deployment key: the body is not for logs.
    raw: bytes = field(repr=False)
    seconds: float = 0.0
    is_recognised: bool = False


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """What is asked of the platform.

    Attributes:
        operation: the operation.
        path: parameters of the path.
        query: parameters of the query.
        body: the JSON body; an operation that is no GET sends an empty object where there is none.
    """

    operation: Operation[T]
    path: Mapping[str, Scalar] | None = None
    query: Mapping[str, Scalar] | None = None
    # A secret may be among its values: it is not for logs.
    body: Mapping[str, Any] | None = field(default=None, repr=False)


class Caller(Protocol):
    """Carries out operations: the client, or the client bound to a deadline."""

    async def call(self, request: Request[T]) -> Answer[T]:
        """Carry out a request whose answer is never absent.

        Raises:
            PlatformError: there is no usable answer.
        """
        ...

    async def find(self, request: Request[T]) -> Answer[T | None]:
        """Carry out a request; the value is None where the status says that there is none.

        Raises:
            PlatformError: there is no usable answer.
        """
        ...
