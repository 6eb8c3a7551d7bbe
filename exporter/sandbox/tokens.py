"""The database's access tokens, with the lifecycle that the interface describes."""

from enum import StrEnum

from exporter.sandbox.keys import DATABASE_TOKEN_FULL, DATABASE_TOKEN_READ_ONLY


class TokenKind(StrEnum):
    """What a token allows."""

    FULL_ACCESS = "full_access"
    READ_ONLY = "read_only"


class DatabaseTokens:
    """The tokens that are valid, for all databases of the account."""

    def __init__(self) -> None:
        self._pairs = 1
        self._valid = {
            DATABASE_TOKEN_FULL: TokenKind.FULL_ACCESS,
            DATABASE_TOKEN_READ_ONLY: TokenKind.READ_ONLY,
        }

    def kind(self, token: str) -> TokenKind | None:
        """Return what a token allows; None if it is not valid."""
        return self._valid.get(token)

    def generate(self) -> dict[TokenKind, str]:
        """Create a pair of tokens; those that exist stay valid."""
        self._pairs += 1
        pair = {
            TokenKind.FULL_ACCESS: f"{DATABASE_TOKEN_FULL}-{self._pairs}",
            TokenKind.READ_ONLY: f"{DATABASE_TOKEN_READ_ONLY}-{self._pairs}",
        }
        self._valid |= {token: kind for kind, token in pair.items()}
        return pair

    def regenerate(self) -> dict[TokenKind, str]:
        """Create a pair of tokens and invalidate all that were there before."""
        self._valid.clear()
        return self.generate()
