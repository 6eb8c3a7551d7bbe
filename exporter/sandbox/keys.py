"""The sandbox's credentials, which are clearly not real: keys with their roles, and the databases' tokens."""

from enum import StrEnum
from typing import Final

from exporter.sandbox.seed import seed

API_KEY: Final = "sandbox-api-key"
"""A personal API key of the account's owner."""

BEARER_TOKEN: Final = "sandbox-bearer-token"  # noqa: S105 - made up, as the name says
"""A bearer token of the account's owner."""

POWERLESS_KEY: Final = "sandbox-billing-key"
"""A valid key whose role may not read DNS statistics."""

DATABASE_TOKEN_FULL: Final = "sandbox-database-token-full-access"  # noqa: S105 - made up, as the name says
"""The database token that reads and writes."""

DATABASE_TOKEN_READ_ONLY: Final = "sandbox-database-token-read-only"  # noqa: S105 - made up, as the name says
"""The database token that only reads."""

DEPLOYMENT_KEY_PREFIX: Final = "sandbox-deployment-key-"
"""The beginning of every script's DeploymentKey: no output of the exporter may contain it."""

DEFAULT_VALUE_PREFIX: Final = "sandbox-default-value-"
"""The beginning of every script variable's DefaultValue: no output of the exporter may contain it."""

STATISTICS_ROLES: Final = frozenset(
    {"User", "UserApi", "SubuserAPIDns", "SubuserDns", "SubuserManage", "SubuserAPIManage"}
)
"""The roles that may read a zone's statistics."""


def sandbox_keys() -> dict[str, str]:
    """Return a fresh map of every key of the sandbox to its role."""
    return {API_KEY: "User", BEARER_TOKEN: "UserApi", POWERLESS_KEY: "SubuserBilling", **seed("keys")}


class TokenKind(StrEnum):
    """What a token allows."""

    FULL_ACCESS = "full_access"
    READ_ONLY = "read_only"


_FIRST_PAIR: Final = {DATABASE_TOKEN_FULL: TokenKind.FULL_ACCESS, DATABASE_TOKEN_READ_ONLY: TokenKind.READ_ONLY}


class DatabaseTokens:
    """The tokens that are valid, for all databases of the account, with what each allows."""

    def __init__(self) -> None:
        self._pairs = 1
        self.valid = dict(_FIRST_PAIR)

    def generate(self) -> dict[TokenKind, str]:
        """Create a pair of tokens; those that exist stay valid."""
        self._pairs += 1
        pair = {kind: f"{token}-{self._pairs}" for token, kind in _FIRST_PAIR.items()}
        self.valid |= {token: kind for kind, token in pair.items()}
        return pair

    def regenerate(self) -> dict[TokenKind, str]:
        """Create a pair of tokens and invalidate all that were there before."""
        self.valid.clear()
        return self.generate()
