"""Decides which requests are allowed: basic auth, and stricter rules for requests that change something."""

import asyncio
import base64
import secrets
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from hashlib import blake2b
from ipaddress import ip_address
from urllib.parse import urlsplit

import bcrypt
from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from exporter.blocking import blocking
from exporter.web.auth.web_config import WebConfig
from exporter.web.headers import with_headers

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN_PATHS = ("/-/healthy", "/-/ready")
_CHALLENGE = 'Basic realm="edge-exporter", charset="UTF-8"'
_LONGEST_CREDENTIALS = 8192
_LONGEST_PASSWORD = 72  # bcrypt ignores the bytes after these
# Without this limit, clients with wrong passwords could keep all connections busy.
_MOST_WAITING = 128


class TooManyChecksError(Exception):
    """Too many password checks are under way."""


class PasswordCheck:
    """Checks passwords against bcrypt hashes, one at a time; the last right one of each user is remembered.

    It is remembered as a digest under a key of this process alone. An unknown user name takes as long as the wrong
    password of the user whose hash is slowest, so that the time of an answer does not show which names exist.
    """

    def __init__(self, users: Mapping[str, SecretStr], key: bytes, executor: Executor) -> None:
        self._key = key
        self._executor = executor
        self._remembered: dict[bytes, bytes] = {}
        self._lock = asyncio.Lock()
        self._waiting = 0
        self.replace(users)

    def replace(self, users: Mapping[str, SecretStr]) -> None:
        """Apply other users; a password stays remembered where the user's hash is unchanged."""
        self._hashes = {user.encode(): secret.get_secret_value().encode() for user, secret in users.items()}
        self._remembered = {user: seen for user, seen in self._remembered.items() if user in self._hashes}
        # A hash that no password matches.
        self._decoy = b"$2b$" + max((known[4:6] for known in self._hashes.values()), default=b"10") + b"$" + b"." * 53

    @property
    def has_users(self) -> bool:
        """Whether there are users; without any, nothing is to be checked."""
        return bool(self._hashes)

    async def admits(self, user: bytes, password: bytes) -> bool:
        """Return whether the password is the user's; raises `TooManyChecksError`."""
        known = self._hashes.get(user)
        seen = self._digest(known or b"", password)
        if self._remembered.get(user) == seen:
            return True
        if self._waiting == _MOST_WAITING:
            raise TooManyChecksError
        self._waiting += 1
        try:
            async with self._lock:
                if self._remembered.get(user) == seen:  # another request has checked the same password in the meantime
                    return True
                hashed = known or self._decoy
                is_right = await blocking(self._executor, bcrypt.checkpw, password[:_LONGEST_PASSWORD], hashed)
        finally:
            self._waiting -= 1
        if known is None or known != self._hashes.get(user) or not is_right:
            return False
        self._remembered[user] = seen
        return True

    def _digest(self, hashed: bytes, password: bytes) -> bytes:
        return blake2b(len(hashed).to_bytes(8) + hashed + password, key=self._key, digest_size=32).digest()


class RequestLimit:
    """Admits requests at an interval in the long run, and `burst` of them at once."""

    def __init__(self, interval: float, burst: int, clock: Callable[[], float]) -> None:
        self._interval = interval
        self._ahead = interval * (burst - 1)
        self._clock = clock
        self._following = clock()

    def admits(self) -> bool:
        """Return whether a request is admitted now."""
        now = self._clock()
        following = max(now, self._following)
        if following - now > self._ahead:
            return False
        self._following = following + self._interval
        return True


class AccessControl:
    """ASGI middleware that admits requests as the web configuration says.

    If users are configured, every request needs a user's password, except those to the health endpoints. A request
    that changes something needs a password, or a client certificate where these are required. If neither is configured,
    it is accepted only from this machine and only if its Host is an IP address or localhost: a web page elsewhere could
    otherwise send it under a name that resolves to this machine (DNS rebinding).
    """

    def __init__(
        self,
        app: ASGIApp,
        config: WebConfig,
        executor: Executor,
        *,
        route_prefix: str = "/",
        key: bytes | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._clock = clock
        self._open_paths = frozenset(route_prefix.rstrip("/") + path for path in _OPEN_PATHS)
        self._check = PasswordCheck({}, secrets.token_bytes(32) if key is None else key, executor)
        self.replace(config)

    def replace(self, config: WebConfig) -> None:
        """Apply another configuration from now on."""
        self._check.replace(config.basic_auth_users)
        tls = config.tls_server_config
        self._client_auth = "NoClientCert" if tls is None else tls.client_auth_type
        headers = config.http_server_config.headers.items()
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers if value]
        limit = config.rate_limit
        self._limit = RequestLimit(limit.interval, limit.burst, self._clock) if limit.interval else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            answer = await self._refusal(scope) or self._app
            await answer(scope, receive, with_headers(send, self._headers, replaces=True) if self._headers else send)

    async def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        """Return the answer to a request that is refused; None if it is admitted."""
        is_reading = scope["method"] in _READING
        if is_reading and scope["path"] in self._open_paths:
            return None
        if self._limit is not None and not self._limit.admits():
            return PlainTextResponse("too many requests (rate_limit of the web configuration)\n", 429)
        try:
            is_admitted = not self._check.has_users or await self._is_admitted(scope)
        except TooManyChecksError:
            again = {"Retry-After": "1"}
            return PlainTextResponse("too many passwords are being checked; try again\n", 503, again)
        if not is_admitted:
            return PlainTextResponse("a user name and a password are needed\n", 401, {"WWW-Authenticate": _CHALLENGE})
        reason = None if is_reading else self._refusal_to_change(scope)
        return None if reason is None else PlainTextResponse(f"{reason}\n", 403)

    async def _is_admitted(self, scope: Scope) -> bool:
        given = Headers(scope=scope).getlist("authorization")
        credentials = _credentials(given[0]) if len(given) == 1 else None
        return credentials is not None and await self._check.admits(*credentials)

    def _refusal_to_change(self, scope: Scope) -> str | None:
        """Return why an authenticated request that changes something is refused; None if it is accepted."""
        headers = Headers(scope=scope)
        if _comes_from_another_site(headers):
            return "a page of another site may not change anything here"
        if self._check.has_users or self._client_auth == "RequireAndVerifyClientCert":
            return None
        if self._client_auth != "NoClientCert":
            return "changes need a client's certificate, which client_auth_type does not require; configure basic auth"
        if not _is_local(scope):
            return "changes are accepted from this machine only; configure basic auth for others"
        if not _names_an_address(headers):
            return (
                "changes are accepted only if the Host is an IP address or localhost; configure basic auth for others"
            )
        return None


def _credentials(header: str) -> tuple[bytes, bytes] | None:
    scheme, _, encoded = header.strip().partition(" ")
    if scheme.lower() != "basic" or len(encoded) > _LONGEST_CREDENTIALS:
        return None
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True)
    except ValueError:
        return None
    user, colon, password = decoded.partition(b":")
    return (user, password) if colon else None


def _comes_from_another_site(headers: Headers) -> bool:
    try:
        return "origin" in headers and urlsplit(headers["origin"]).netloc.lower() != headers.get("host", "").lower()
    except ValueError:
        return True


def _names_an_address(headers: Headers) -> bool:
    """Return whether the Host is an IP address or localhost, which another site cannot have as its name."""
    try:
        (host,) = headers.getlist("host")
        name = urlsplit(f"//{host}").hostname or ""
        is_local_name = name == "localhost" or name.endswith(".localhost")
        return "@" not in host and (is_local_name or bool(ip_address(name)))
    except ValueError:
        return False


def _is_local(scope: Scope) -> bool:
    try:
        address = ip_address(scope["client"][0])
    except (KeyError, TypeError, ValueError):
        return False
    return bool((getattr(address, "ipv4_mapped", None) or address).is_loopback)
