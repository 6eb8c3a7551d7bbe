"""The sandbox's credentials, which are clearly not real: keys with their roles, and the databases' tokens."""

from enum import StrEnum
from typing import Final

from exporter.sandbox.seed import seed

# Of the account's owner.
API_KEY: Final = "sandbox-api-key"
BEARER_TOKEN: Final = "sandbox-bearer-token"  # noqa: S105 - made up, as the name says
# A valid key whose role may not read DNS statistics.
POWERLESS_KEY: Final = "sandbox-billing-key"
DATABASE_TOKEN_FULL: Final = "sandbox-database-token-full-access"  # noqa: S105 - made up, as the name says
DATABASE_TOKEN_READ_ONLY: Final = "sandbox-database-token-read-only"  # noqa: S105 - made up, as the name says
# How every script's DeploymentKey, and every DefaultValue of its variables, begins. No output of the exporter may
# contain them.
DEPLOYMENT_KEY_PREFIX: Final = "sandbox-deployment-key-"
DEFAULT_VALUE_PREFIX: Final = "sandbox-default-value-"
# The roles that may read a zone's statistics.
STATISTICS_ROLES: Final = frozenset(
    {"User", "UserApi", "SubuserAPIDns", "SubuserDns", "SubuserManage", "SubuserAPIManage"}
)


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
