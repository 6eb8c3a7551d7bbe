"""Selects the account or the database of a call, and its credential."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from exporter.platform.errors import MASK, CredentialError
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.model import Settings
from exporter.validation.secrets import SecretFileError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Choice:
    """The account or the database that the command line names; None if it names none."""

    account: str | None = None
    database: str | None = None


class ChoiceError(Exception):
    """The command line does not select exactly one account or database; the message lists them."""


@dataclass(frozen=True, slots=True)
class Line:
    """An account or a database that is called.

    Attributes:
        name: its name in the configuration.
    """

    name: str
    settings: AccountSettings | DatabaseSettings

    @property
    def base_url(self) -> str:
        """The address that calls go to."""
        return self.settings.base_url if isinstance(self.settings, AccountSettings) else self.settings.url

    def credential(self) -> str:
        """Return the key or token, which the output must not contain.

        Raises:
            CredentialError: its file cannot be used.
        """
        try:
            return self.settings.credential().get_secret_value()
        except SecretFileError as error:
            raise CredentialError(f"the key cannot be read: {error}") from None

    def header(self) -> tuple[str, str]:
        """Return the header that carries the credential, without it."""
        if isinstance(self.settings, AccountSettings) and self.settings.auth == "access_key":
            return ("AccessKey", MASK)
        return ("Authorization", f"Bearer {MASK}")


def choose(settings: Settings, choice: Choice, *, is_sql: bool) -> Line:
    """Return the account or database that is named, or the only one.

    Raises:
        ChoiceError: there is none, or several and none is named.
    """
    if is_sql:
        if choice.account is not None:
            raise ChoiceError("--account is for the management API; --database names a database")
        databases = {one.name: one for one in settings.databases}
        return Line(
            *_one(databases, choice.database, "database", "PLATFORM_DATABASE_URL and PLATFORM_DATABASE_AUTH_TOKEN")
        )
    if choice.database is not None:
        raise ChoiceError("--database is for sql and database_pipeline; --account names an account")
    accounts = {one.name: one for one in settings.accounts}
    return Line(*_one(accounts, choice.account, "account", "EDGE_EXPORTER_BASE_URL and EDGE_EXPORTER_API_KEY"))


def _one(known: Mapping[str, T], name: str | None, what: str, variables: str) -> tuple[str, T]:
    if name is not None:
        if name not in known:
            has = f"the configuration has {', '.join(known)}" if known else "the configuration has none"
            raise ChoiceError(f"there is no {what} {name!r}; {has}")
        return name, known[name]
    if not known:
        raise ChoiceError(f"the configuration has no {what}; {variables} suffice")
    if len(known) > 1:
        raise ChoiceError(f"there are {len(known)} {what}s: {', '.join(known)}; --{what} selects one of them")
    return next(iter(known.items()))
