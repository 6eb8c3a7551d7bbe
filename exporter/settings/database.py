"""The settings of a database on the platform, and of the queries whose results become metrics."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated
from urllib.parse import unquote, urlunsplit

from pydantic import BeforeValidator, Field, SecretStr, model_validator
from pydantic_core import InitErrorDetails

from exporter.settings.account import BudgetSettings, one_of, stored_secret
from exporter.validation.faults import KeyPath
from exporter.validation.secrets import Secret, SecretFile
from exporter.validation.section import Section, at, duplicates, expected, items, peek, refused
from exporter.validation.types import OptionalInterval, Text, Timeout, parse_label_name, split_url

TOKEN_PARAMETER = "authToken"  # noqa: S105 - the parameter's name, no token
_SCHEMES = {"libsql": "https", "https": "https", "http": "http"}
_EXAMPLE = "libsql://abc.lite.example.net"
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_DATABASE_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")
_FAMILIES_OF_OUR_OWN = frozenset({"up", "query_duration_seconds", "query_rows"})


def parse_query_name(value: object) -> str:
    """Validate a query's name, which becomes a part of a metric's name."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise expected("a name of letters, digits and '_' that does not start with a digit, best in lower case")
    if value in _FAMILIES_OF_OUR_OWN:
        raise refused(f"'{value}' is taken: the exporter has a metric edge_database_{value} of its own")
    return value


def parse_label(value: object) -> str:
    """Validate a label's name, which is also the name of a column."""
    name = parse_label_name(value)
    if name == "database":
        raise refused("'database' is taken: every query's metric already has that label")
    return name


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


def _parse_sql(value: object) -> str:
    if not isinstance(value, str):
        raise expected("an SQL statement")
    if not value.strip():
        raise refused("is empty; expected an SQL statement")
    return value.strip()


class QuerySettings(Section):
    """One SQL query; each row of its result becomes a sample of one gauge."""

    name: Annotated[
        str,
        BeforeValidator(parse_query_name),
        Field(description="The query's name; its metric is edge_database_<name>."),
    ]
    help: Annotated[str, Field(description="The metric's help text.")] = ""
    sql: Annotated[str, BeforeValidator(_parse_sql), Field(description="One reading SQL statement.")]
    value: Annotated[Text, Field(description="The column that holds the value.")] = "value"
    labels: Annotated[
        tuple[Annotated[str, BeforeValidator(parse_label)], ...], Field(description="The columns that become labels.")
    ] = ()
    interval: Annotated[
        OptionalInterval, Field(description="The interval; null for that of the database collector.")
    ] = None
    max_rows: Annotated[int, Field(ge=1, le=1_000_000, description="A query that returns more rows fails.")] = 1000

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Require that each column has one use."""
        labels = [label for label in items(raw.get("labels")) if isinstance(label, str)]
        yield from duplicates((("labels", place), label) for place, label in enumerate(labels))
        for place, label in enumerate(labels):
            if label == raw.get("value", "value"):
                yield at(("labels", place), refused(f"'{label}' is the value's column, which cannot also be a label"))


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
    queries: tuple[QuerySettings, ...] = ()

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
