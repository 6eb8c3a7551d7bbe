"""The key or token of an account, and whether the platform takes it."""

from collections.abc import Awaitable, Callable

from exporter.platform.errors import CredentialError


class Credential:
    """How a call is authenticated (interface document, Authentication).

    Args:
        scheme: `access_key` for the header `AccessKey`, `bearer` for `Authorization`.
        read: gives the key or token; called for each request, so that a rotated one is used at once.
        refresh: awaited before that, where to find out whether it was rotated may take time.
    """

    __slots__ = ("_read", "_refresh", "_refused", "_scheme")

    def __init__(
        self, scheme: str, read: Callable[[], str], refresh: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._scheme = scheme
        self._read = read
        self._refresh = refresh
        # What the platform refused last, or nothing where it could not even be read.
        self._refused: str | None = None

    def read(self) -> str:
        """The key or token as it is now.

        Raises:
            CredentialError: it cannot be read.
        """
        try:
            return self._read()
        except CredentialError:
            self._refused = ""
            raise

    async def current(self) -> str:
        """The same, after a look whether it is another one by now.

        Raises:
            CredentialError: it cannot be read.
        """
        if self._refresh is not None:
            await self._refresh()
        return self.read()

    def header(self, secret: str) -> tuple[str, str]:
        """The header that carries the secret.

        Raises:
            CredentialError: it cannot stand in a header.
        """
        if not secret or not secret.isascii() or not secret.isprintable():
            self._refused = secret
            raise CredentialError("the key is empty, or holds characters that cannot stand in a header")
        return ("AccessKey", secret) if self._scheme == "access_key" else ("Authorization", f"Bearer {secret}")

    def refuse(self, secret: str) -> None:
        """Note that the platform did not take it."""
        self._refused = secret

    def accept(self) -> None:
        """Note that the platform took it."""
        self._refused = None

    def is_refused(self) -> bool:
        """Whether it was not taken when it was used last."""
        return self._refused is not None

    def is_renewed(self) -> bool:
        """Whether it was not taken when it was used last, and is another one by now; tells so once."""
        if self._refused is None:
            return False
        try:
            secret = self._read()
        except CredentialError:
            return False
        if secret == self._refused:
            return False
        self._refused = None
        return True
