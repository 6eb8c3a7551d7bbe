"""The sandbox's credentials, which are clearly not real, and their roles."""

from typing import Final

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
    {"User", "UserApi", "SubuserAPIDns", "SubuserDns", "SubuserManage", "SubuserAPIManage"},
)
"""The roles that may read a zone's statistics."""

_SUBUSER_KEYS: Final = {
    "sandbox-user-api-key": "UserApi",
    "sandbox-subuser-api-dns-key": "SubuserAPIDns",
    "sandbox-subuser-dns-key": "SubuserDns",
    "sandbox-subuser-manage-key": "SubuserManage",
    "sandbox-subuser-api-manage-key": "SubuserAPIManage",
}


def sandbox_keys() -> dict[str, str]:
    """Return a fresh map of every key of the sandbox to its role."""
    return {API_KEY: "User", BEARER_TOKEN: "UserApi", POWERLESS_KEY: "SubuserBilling", **_SUBUSER_KEYS}
