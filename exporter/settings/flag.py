"""Defines a command-line flag with its environment variable, and the flags of an account.

Imports neither the settings' models nor pydantic, so that help texts are fast.
"""

from dataclasses import dataclass

from exporter.validation.configuration_errors import KeyPath

PREFIX = "EDGE_EXPORTER_"
DELIMITER = "__"
FIRST_ACCOUNT = ("accounts", 0)
FIRST_DATABASE = ("databases", 0)


def variable_of(*path: str | int) -> str:
    """Return the name of the variable that sets a value, as pydantic-settings reads it."""
    return PREFIX + DELIMITER.join(map(str, path)).upper()


CONFIG_VARIABLE = variable_of("config")
# Set by the image: the address to listen on where no flag, other variable or file has one.
CONTAINER_LISTEN = "CONTAINER_LISTEN"
# The variables of the first account, and those that the platform sets for an attached database, with what they set.
ACCOUNT_VARIABLES: dict[str, KeyPath] = {
    variable_of(key): (*FIRST_ACCOUNT, key) for key in ("base_url", "api_key", "api_key_file", "auth")
}
DATABASE_VARIABLES: dict[str, KeyPath] = {
    "PLATFORM_DATABASE_URL": (*FIRST_DATABASE, "url"),
    "PLATFORM_DATABASE_AUTH_TOKEN": (*FIRST_DATABASE, "auth_token"),
}


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of the command line.

    Attributes:
        path: The place of its value in the model.
        help: One sentence about what it sets.
        metavar: The placeholder for the value in the help text.
        default: The default value as text; empty if there is none.
    """

    path: KeyPath
    help: str
    metavar: str
    default: str

    @property
    def is_of_account(self) -> bool:
        """Whether it sets a value of the first account."""
        return self.path[:2] == FIRST_ACCOUNT

    @property
    def name(self) -> str:
        """The flag, such as `--web.listen`."""
        return "--" + ".".join(str(step).replace("_", "-") for step in self._keys)

    @property
    def variable(self) -> str:
        """The environment variable that sets the same value."""
        return variable_of(*self._keys)

    @property
    def _keys(self) -> KeyPath:
        return self.path[2:] if self.is_of_account else self.path


def _of_account(key: str, text: str, metavar: str, default: str = "") -> Flag:
    return Flag((*FIRST_ACCOUNT, key), text, metavar, default)


BASE_URL = _of_account("base_url", "The platform's address, such as https://api.example.net.", "URL")
API_KEY_FILE = _of_account("api_key_file", "The file that holds the account's key.", "FILE", "null")
AUTH = _of_account(
    "auth", "How the key is sent: in the AccessKey header, or as a bearer token.", "access_key|bearer", "access_key"
)
# The flags of an account; the account's model takes its descriptions from them.
ACCOUNT_FLAGS = (BASE_URL, API_KEY_FILE, AUTH)
