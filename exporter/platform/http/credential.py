"""The key or token of an account or a database."""

from collections.abc import Awaitable, Callable

from exporter.platform.errors import CredentialError


class Credential:
    """How a call is authenticated (interface document, Authentication).

    Args:
        scheme: `access_key` for the header `AccessKey`, `bearer` for `Authorization`.
        read: returns the key or token; called for each request, so that a rotated one is used at once.
        look: begins to find out whether the key was rotated, if that may take time.
        refresh: finds it out; awaited before `read`.

    Attributes:
        look: called while a refused key prevents all calls, which would find another key.
        refused: the key or token, if the platform refused it at its last use or a header cannot contain it; empty if
            it could not be read; None if it was accepted or never used.
    """

    __slots__ = ("_read", "_refresh", "_scheme", "look", "refused")

    def __init__(
        self,
        scheme: str,
        read: Callable[[], str],
        look: Callable[[], None] = lambda: None,
        refresh: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._scheme = scheme
        self._read = read
        self.look = look
        self._refresh = refresh
        self.refused: str | None = None

    async def header(self) -> tuple[str, str, str]:
        """Return the current key or token, and the name and the value of the header that contains it.

        Raises:
            CredentialError: it cannot be read, or a header cannot contain it.
        """
        if self._refresh is not None:
            await self._refresh()
        try:
            secret = self._read()
        except CredentialError:
            self.refused = ""
            raise
        if not secret or not secret.isascii() or not secret.isprintable():
            self.refused = secret
            raise CredentialError("the key is empty, or contains characters that are not allowed in a header")
        if self._scheme == "access_key":
            return secret, "AccessKey", secret
        return secret, "Authorization", f"Bearer {secret}"

    def is_refused(self) -> bool:
        """Return whether the key or token failed at its last use: it was refused, or could not be read or sent."""
        return self.refused is not None

    def is_replaced(self) -> bool:
        """Return whether the key or token was replaced after its last use failed; the caller then clears `refused`."""
        try:
            return self.refused is not None and self._read() != self.refused
        except CredentialError:
            return False
