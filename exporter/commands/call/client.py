"""Carries out one operation for a person or a script, and says how it ended in an exit code."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

import httpx

from exporter import wiring
from exporter.commands.call.masking import MASK
from exporter.platform.errors import (
    CredentialError,
    Forbidden,
    NotFound,
    PlatformError,
    RateLimited,
    TransportError,
    Unauthorized,
)
from exporter.platform.http.client import Client
from exporter.platform.http.observer import Deaf
from exporter.platform.operation import Answer, Request
from exporter.settings.account import AccountSettings
from exporter.settings.database import DatabaseSettings
from exporter.settings.model import Settings
from exporter.settings.secrets import SecretFileError

T = TypeVar("T")

UNREACHABLE = 3
UNAUTHORISED = 4
NOT_FOUND = 5
RATE_LIMITED = 6
_NOT_FOUND_STATUS = 404
_NOT_FOUND_KEY = "not_found"
# A call may take as long as so many attempts; a platform that asks for more patience is not waited for.
_MOST_ATTEMPTS = 3


class ChoiceError(Exception):
    """It is not clear which account or database is meant; the message says which there are."""


def exit_code(error: PlatformError) -> int:
    """The exit code that stands for an error."""
    match error:
        case TransportError():
            return UNREACHABLE
        case Unauthorized() | Forbidden() | CredentialError():
            return UNAUTHORISED
        case RateLimited():
            return RATE_LIMITED
        case _:
            is_absent = isinstance(error, NotFound) or error.status == _NOT_FOUND_STATUS
            return NOT_FOUND if is_absent or error.error_key.startswith(_NOT_FOUND_KEY) else 1


def description(error: PlatformError) -> str:
    """An error as people read it: the platform's own message, its key, and the fields that it complains of."""
    message = str(error)
    lines = [message]
    if error.error_key and error.error_key not in message:
        lines.append(f"  error key: {error.error_key}")
    lines.extend(f"  {name}: {said}" for name, said in error.fields if f"{name}: {said}" not in message)
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Line:
    """The way to an account or a database.

    Attributes:
        name: what people call it.
    """

    name: str
    settings: AccountSettings | DatabaseSettings

    def client(self) -> Client:
        """A client, to be closed by the caller; a single call has the whole budget."""
        return wiring.client_of(self.settings, Deaf(), 1)

    def credential(self) -> str:
        """The key or token, to keep it out of what is printed.

        Raises:
            CredentialError: its file cannot be used.
        """
        try:
            return self.settings.credential().get_secret_value()
        except SecretFileError as error:
            raise CredentialError(f"the key cannot be read: {error}") from None

    def header(self) -> tuple[str, str]:
        """The header that carries the credential, without it."""
        if isinstance(self.settings, AccountSettings) and self.settings.auth == "access_key":
            return ("AccessKey", MASK)
        return ("Authorization", f"Bearer {MASK}")


def choose(settings: Settings, *, account: str | None, database: str | None, is_sql: bool) -> Line:
    """The account or database that is asked: the one that is named, or the only one.

    Raises:
        ChoiceError: there is none, or there are several.
    """
    if is_sql:
        if account is not None:
            raise ChoiceError("--account is for the management API; --database names a database")
        databases = {one.name: one for one in settings.databases}
        return Line(*_one(databases, database, "database", "PLATFORM_DATABASE_URL and PLATFORM_DATABASE_AUTH_TOKEN"))
    if database is not None:
        raise ChoiceError("--database is for sql and database_pipeline; --account names an account")
    accounts = {one.name: one for one in settings.accounts}
    return Line(*_one(accounts, account, "account", "EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY"))


def _one(known: Mapping[str, T], name: str | None, what: str, variables: str) -> tuple[str, T]:
    if name is not None:
        if name not in known:
            has = f"the configuration has {', '.join(known)}" if known else "the configuration has none"
            raise ChoiceError(f"there is no {what} {name!r}; {has}")
        return name, known[name]
    if not known:
        raise ChoiceError(f"the configuration has no {what}; {variables} suffice")
    if len(known) > 1:
        raise ChoiceError(f"there are {len(known)} {what}s: {', '.join(known)}; --{what} names the one that is meant")
    return next(iter(known.items()))


class Direct:
    """Calls for real, and never twice where a second time might change something again."""

    def __init__(self, client: Client, timeout: float, *, writes: bool) -> None:
        self._caller = client.until(time.monotonic() + _MOST_ATTEMPTS * timeout)
        self._writes = writes

    async def call(self, request: Request[T]) -> Answer[T]:
        """See `exporter.platform.operation.Caller`."""
        return await self._caller.call(self._marked(request))

    async def find(self, request: Request[T]) -> Answer[T | None]:
        """See `exporter.platform.operation.Caller`."""
        return await self._caller.find(self._marked(request))

    def _marked(self, request: Request[T]) -> Request[T]:
        return replace(request, operation=replace(request.operation, writes=True)) if self._writes else request


class RehearsedError(Exception):
    """The request that would have been sent, at the place where it would have been."""

    def __init__(self, request: httpx.Request, body: Mapping[str, Any] | None) -> None:
        super().__init__()
        self.request = request
        self.body = body


class Rehearsal:
    """Contacts nothing: the first call ends with the request that it would have sent."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, request: Request[T]) -> NoReturn:
        """See `exporter.platform.operation.Caller`."""
        raise RehearsedError(self._client.message(request), request.body)

    async def find(self, request: Request[T]) -> NoReturn:
        """See `exporter.platform.operation.Caller`."""
        await self.call(request)
