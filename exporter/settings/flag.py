"""A flag of the command line with its environment variable, and the flags of an account.

Imports neither the settings' models nor pydantic, so that a help text does not wait for them.
"""

from dataclasses import dataclass

from exporter.settings.faults import KeyPath

PREFIX = "EDGE_EXPORTER_"
CONFIG_VARIABLE = PREFIX + "CONFIG"
FIRST_ACCOUNT: KeyPath = ("accounts", 0)
FIRST_DATABASE: KeyPath = ("databases", 0)
# The variables of the one account, and the account's key that each sets.
ACCOUNT_VARIABLES = {PREFIX + key.upper(): key for key in ("base_url", "api_key", "api_key_file", "auth")}
# The variables that the platform sets where a database is attached, and the database's key that each sets.
DATABASE_VARIABLES = {"PLATFORM_DATABASE_URL": "url", "PLATFORM_DATABASE_AUTH_TOKEN": "auth_token"}


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of the command line.

    Attributes:
        name: As it is written: `--web.listen`.
        path: Where its value goes in the model.
        help: What it sets, in a sentence.
        metavar: What stands for the value in the help text.
        default: The value when nothing sets it, as it is written; empty for none.
        variable: The environment variable that sets the same.
        nullable: Whether `null` is a value of it.
    """

    name: str
    path: KeyPath
    help: str
    metavar: str
    default: str
    variable: str
    nullable: bool

    @property
    def is_of_account(self) -> bool:
        """Whether it sets a value of the one account."""
        return self.path[:2] == FIRST_ACCOUNT


def _of_account(key: str, text: str, metavar: str, default: str = "", *, nullable: bool = False) -> Flag:
    path = (*FIRST_ACCOUNT, key)
    return Flag(f"--{dashed(key)}", path, text, metavar, default, PREFIX + key.upper(), nullable)


def dashed(key: str) -> str:
    """A key of the configuration as a flag is written."""
    return key.replace("_", "-")


BASE_URL = _of_account("base_url", "The platform's address, such as https://api.example.net.", "URL")
API_KEY_FILE = _of_account("api_key_file", "The file that holds the account's key.", "FILE", "null", nullable=True)
AUTH = _of_account(
    "auth", "How the key is sent: in the AccessKey header, or as a bearer token.", "access_key|bearer", "access_key"
)
# The flags that say which account is asked, and how; the account's model takes its descriptions from them.
ACCOUNT_FLAGS = (BASE_URL, API_KEY_FILE, AUTH)
