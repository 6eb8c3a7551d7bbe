"""The settings of a database on the platform."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated
from urllib.parse import unquote, urlunsplit

from pydantic import BeforeValidator, Field, SecretStr, model_validator
from pydantic_core import InitErrorDetails

from exporter.collectors.database import Query
from exporter.settings.account import BudgetSettings, one_of, stored_secret
from exporter.validation.faults import KeyPath
from exporter.validation.secrets import Secret, SecretFile
from exporter.validation.section import Section, at, duplicates, expected, items, peek, refused
from exporter.validation.types import Timeout, split_url

TOKEN_PARAMETER = "authToken"  # noqa: S105 - the parameter's name, no token
_SCHEMES = {"libsql": "https", "https": "https", "http": "http"}
_EXAMPLE = "libsql://abc.lite.example.net"
_DATABASE_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")


def parse_database_name(value: object) -> str:
    """Validate a database's name, which becomes the value of a label."""
    if not isinstance(value, str) or not _DATABASE_NAME.fullmatch(value):
        raise expected("a name of letters, digits, '_', '-' and '.'")
    return value


def parse_database_url(value: object) -> str:
    """Validate a database's address and return it as an HTTP URL; `libsql://` means `https://`."""
    parts = split_url(value, _SCHEMES, _EXAMPLE)
    if parts.username is not None or parts.password is not None:
        raise refused("contains a user name or a password; expected a URL without, and the token in auth_token")
    if any(name != TOKEN_PARAMETER for name, _ in _parameters(parts.query)) or parts.fragment:
        raise refused(
            f"contains a query other than {TOKEN_PARAMETER}, or a fragment; expected a URL such as {_EXAMPLE}"
        )
    return urlunsplit(parts._replace(path=parts.path.rstrip("/"), query=""))


def token_in_url(value: object) -> str | None:
    """Return the token from a URL's query, which client libraries also accept; None if there is none."""
    if not isinstance(value, str):
        return None
    return dict(_parameters(value.partition("?")[2])).get(TOKEN_PARAMETER)


def _parameters(query: str) -> list[tuple[str, str]]:
    """Return the names and values of a query; a '+' is kept, because a token may contain it."""
    pairs = (part.partition("=") for part in query.split("&") if part)
    return [(unquote(name), unquote(value)) for name, _, value in pairs]


class DatabaseSettings(Section):
    """One database."""

    name: Annotated[
        str,
        BeforeValidator(parse_database_name),
        Field(description="The database's name, which is a label of its metrics."),
    ]
    url: Annotated[
        str,
        BeforeValidator(parse_database_url),
        Field(description=f"The database's address, such as {_EXAMPLE}.", json_schema_extra={"secret": True}),
    ]
    auth_token: Annotated[Secret, Field(description="The access token; a read-only one suffices.")] = None
    auth_token_file: Annotated[SecretFile, Field(description="The file that holds the access token.")] = None
    budget: BudgetSettings = Field(default_factory=BudgetSettings.model_construct)
    timeout: Annotated[Timeout, Field(description="The deadline of a whole attempt.")] = 10.0
    queries: tuple[Query, ...] = ()

    def credential(self) -> SecretStr:
        """Return the current access token.

        Raises:
            SecretFileError: The file of the token cannot be used.
        """
        return stored_secret(self.auth_token, self.auth_token_file)

    @model_validator(mode="before")
    @classmethod
    def _take_the_token_out_of_the_url(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        token = token_in_url(data.get("url"))
        given = data.get("auth_token") or data.get("auth_token_file")
        return {**data, "auth_token": token} if token and not given else data

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Require one credential: in the URL, in a key or in a file."""
        if token_in_url(raw.get("url")) is None:
            yield from one_of(raw, "auth_token", "auth_token_file")
        elif raw.get("auth_token") is not None or raw.get("auth_token_file") is not None:
            yield at(
                ("url",),
                refused(f"contains an {TOKEN_PARAMETER} as well as auth_token or auth_token_file; expected one"),
            )


def duplicate_queries(raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
    """Refuse two queries with the same name, even of different databases: they would be one metric."""
    names: list[tuple[KeyPath, object]] = [
        (("databases", outer, "queries", inner), peek(query, "name"))
        for outer, database in enumerate(items(raw.get("databases")))
        for inner, query in enumerate(items(peek(database, "queries")))
    ]
    return duplicates(names, "name")
