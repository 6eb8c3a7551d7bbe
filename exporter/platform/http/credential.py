"""The key or token of an account, and whether the platform accepts it."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from exporter.platform.errors import CredentialError


class Credential:
    """How a call is authenticated (interface document, Authentication).

    Args:
        scheme: `access_key` for the header `AccessKey`, `bearer` for `Authorization`.
        read: returns the key or token; called for each request, so that a rotated one is used at once.
        refresh: awaited before `read`, if finding out whether the key was rotated may take time.
    """

    __slots__ = ("_read", "_refresh", "_refused", "_scheme")

    def __init__(
        self, scheme: str, read: Callable[[], str], refresh: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._scheme = scheme
        self._read = read
        self._refresh = refresh
        # The secret that the platform refused last; empty if the secret could not be read.
        self._refused: str | None = None

    async def current(self) -> str:
        """Return the current key or token, after a check whether it was rotated.

        Raises:
            CredentialError: it cannot be read.
        """
        if self._refresh is not None:
            await self._refresh()
        try:
            return self._read()
        except CredentialError:
            self._refused = ""
            raise

    def header(self, secret: str) -> tuple[str, str]:
        """Return the header that contains the secret.

        Raises:
            CredentialError: it is not valid in a header.
        """
        if not secret or not secret.isascii() or not secret.isprintable():
            self._refused = secret
            raise CredentialError("the key is empty, or holds characters that are not allowed in a header")
        return ("AccessKey", secret) if self._scheme == "access_key" else ("Authorization", f"Bearer {secret}")

    def refuse(self, secret: str) -> None:
        """Record that the platform refused this secret."""
        self._refused = secret

    def accept(self) -> None:
        """Record that the platform accepted the secret."""
        self._refused = None

    def is_refused(self) -> bool:
        """Return whether the platform refused the secret at its last use."""
        return self._refused is not None

    def is_renewed(self) -> bool:
        """Return whether a refused secret has been replaced since; True only once for each change."""
        if self._refused is not None:
            with suppress(CredentialError):
                if self._read() != self._refused:
                    self._refused = None
                    return True
        return False
