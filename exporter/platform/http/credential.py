"""The key or token of an account or a database, and whether the platform accepts it."""

from collections.abc import Awaitable, Callable

from exporter.platform.errors import CredentialError


class Credential:
    """The key or token of an account or a database, and the header for it (interface document, Authentication).

    Args:
        scheme: `access_key` for the header `AccessKey`, `bearer` for `Authorization`.
        read: returns the current key or token, or raises CredentialError.
        start_refresh: starts to look for a rotated key, and returns at once; by default, it does nothing.
        refresh: looks for a rotated key; `current_key` awaits it. None: the key is not rotated.

    Attributes:
        problem: what is wrong with the key or token, such as `is not accepted`; empty if no problem is known.
    """

    __slots__ = ("_failed_key", "_read", "_refresh", "_scheme", "problem", "start_refresh")

    def __init__(
        self,
        scheme: str,
        read: Callable[[], str],
        start_refresh: Callable[[], None] = lambda: None,
        refresh: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._scheme = scheme
        self._read = read
        self.start_refresh = start_refresh
        self._refresh = refresh
        self.problem = ""
        # The key or token with the problem; empty if it could not be read.
        self._failed_key = ""

    async def current_key(self) -> str:
        """Return the current key or token; set `problem` if it cannot be used.

        Raises:
            CredentialError: the key or token cannot be read, is empty, or cannot be contained in a header.
        """
        if self._refresh is not None:
            await self._refresh()
        try:
            key = self._read()
        except CredentialError:
            self._failed_key, self.problem = "", "cannot be used"
            raise
        if not key or not key.isascii() or not key.isprintable():
            self._failed_key, self.problem = key, "cannot be used"
            raise CredentialError("the key or token is empty, or contains characters that are not allowed in a header")
        return key

    def header_with(self, key: str) -> tuple[str, str]:
        """Return the name and the value of the header that contains a key or token."""
        return ("AccessKey", key) if self._scheme == "access_key" else ("Authorization", f"Bearer {key}")

    def refuse(self, key: str) -> None:
        """Set `problem`: the platform does not accept this key or token."""
        self._failed_key, self.problem = key, "is not accepted"

    def accept(self, key: str) -> None:
        """Clear `problem` if this key or token had it; a problem of another one stays, for `is_replaced`."""
        if key == self._failed_key:
            self.problem = ""

    def is_replaced(self) -> bool:
        """Return whether there is a problem, and there is a different key or token now."""
        try:
            return bool(self.problem) and self._read() != self._failed_key
        except CredentialError:
            return False
