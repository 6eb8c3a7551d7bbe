"""The sandbox's credentials: keys with their roles, and database tokens."""

from enum import StrEnum
from typing import Final

from exporter.sandbox.seed import seed

# The key of the account's owner: every operation accepts it.
API_KEY: Final = "sandbox-api-key"
BEARER_TOKEN: Final = "sandbox-bearer-token"  # noqa: S105 - made up, as the name says
# A valid key whose role may not read DNS statistics.
POWERLESS_KEY: Final = "sandbox-billing-key"
DATABASE_TOKEN_FULL: Final = "sandbox-database-token-full-access"  # noqa: S105 - made up, as the name says
DATABASE_TOKEN_READ_ONLY: Final = "sandbox-database-token-read-only"  # noqa: S105 - made up, as the name says
# How a script's DeploymentKey and a variable's DefaultValue begin. No output of the exporter may contain these texts.
DEPLOYMENT_KEY_PREFIX: Final = "sandbox-deployment-key-"
DEFAULT_VALUE_PREFIX: Final = "sandbox-default-value-"
DNS_STATISTICS_ROLES: Final = frozenset(
    {"User", "UserApi", "SubuserAPIDns", "SubuserDns", "SubuserManage", "SubuserAPIManage"}
)


def sandbox_keys() -> dict[str, str]:
    """Return key → role for every key of the sandbox."""
    return {API_KEY: "User", BEARER_TOKEN: "UserApi", POWERLESS_KEY: "SubuserBilling", **seed("keys")}


class TokenKind(StrEnum):
    """The access that a database token gives."""

    FULL_ACCESS = "full_access"
    READ_ONLY = "read_only"


_FIRST_PAIR: Final = {DATABASE_TOKEN_FULL: TokenKind.FULL_ACCESS, DATABASE_TOKEN_READ_ONLY: TokenKind.READ_ONLY}


class DatabaseTokens:
    """The database tokens of the account. A token is for all databases; `valid` is token → kind."""

    def __init__(self) -> None:
        self._pair_count = 1
        self.valid = dict(_FIRST_PAIR)

    def generate(self) -> dict[TokenKind, str]:
        """Create a token of each kind, and return the new tokens; earlier tokens stay valid."""
        self._pair_count += 1
        pair = {kind: f"{token}-{self._pair_count}" for token, kind in _FIRST_PAIR.items()}
        self.valid |= {token: kind for kind, token in pair.items()}
        return pair

    def regenerate(self) -> dict[TokenKind, str]:
        """Create a token of each kind, and return the new tokens; earlier tokens become invalid."""
        self.valid.clear()
        return self.generate()
