"""Decides which requests are allowed: basic auth, and stricter rules for requests that change something."""

import asyncio
import base64
from concurrent.futures import Executor
from hashlib import blake2b
from ipaddress import ip_address

import bcrypt
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from exporter.blocking import blocking
from exporter.web.auth.web_config import WebConfig
from exporter.web.security_headers import with_headers

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN_PATHS = ("/-/healthy", "/-/ready")
_CHALLENGE = {"WWW-Authenticate": 'Basic realm="edge-exporter", charset="UTF-8"'}
_MOST_BYTES = 72  # the most bytes of a password that bcrypt uses
# The most passwords that are being checked or wait for their check; further requests that need a check are refused.
_MOST_CHECKS = 128


class AccessControl:
    """ASGI middleware that admits requests as the web configuration says.

    If users are configured, all requests except reads of the health endpoints need a user's password. Without users,
    changes must come from a loopback address; if client certificates are required, a connection with a certificate
    suffices. Changes with an Origin header are refused: they come from web pages, perhaps in a browser on this machine.

    Passwords are checked one after another. The last correct password of a user is remembered, as a digest that depends
    on the user's hash too: when the hash changes, the password is checked again. An unknown user's password is compared
    with the slowest hash. If all hashes have equal costs, the time of a refusal does not show which users exist.
    """

    def __init__(self, app: ASGIApp, config: WebConfig, executor: Executor, *, route_prefix: str = "/") -> None:
        self._app = app
        self._executor = executor
        self._open_paths = frozenset(route_prefix.rstrip("/") + path for path in _OPEN_PATHS)
        self._digest_by_user: dict[bytes, bytes] = {}
        self._one_at_a_time = asyncio.Lock()
        self._check_slots = asyncio.Semaphore(_MOST_CHECKS)
        self.replace(config)

    def replace(self, config: WebConfig) -> None:
        """Apply a configuration to further requests."""
        users = config.basic_auth_users.items()
        self._hashes = {user.encode(): secret.get_secret_value().encode() for user, secret in users}
        # Two digits of a hash, such as the 10 of `$2b$10$…`, are the cost, from which the time of a check follows.
        self._slowest = max(self._hashes.values(), key=lambda hashed: hashed[4:6], default=b"")
        headers = config.http_server_config.headers.items()
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers if value]
        tls = config.tls_server_config
        self._needs_certificate = tls is not None and tls.client_auth_type == "RequireAndVerifyClientCert"

    @property
    def is_open(self) -> bool:
        """Whether neither users nor headers are configured, so that reads may be answered without this middleware."""
        return not self._hashes and not self._headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse a request."""
        responder = self._app
        try:
            await self._check(scope)
        except HTTPException as refused:
            responder = PlainTextResponse(refused.detail, refused.status_code, refused.headers)
        await responder(scope, receive, with_headers(send, self._headers) if self._headers else send)

    async def _check(self, scope: Scope) -> None:
        """Raise HTTPException for a request that is refused."""
        headers = Headers(scope=scope)
        is_reading = scope["method"] in _READING
        if self._hashes and not (is_reading and scope["path"] in self._open_paths):
            user, colon, password = _credentials(headers.get("authorization", "")).partition(b":")
            if not (colon and await self._is_right(user, password)):
                raise HTTPException(401, "a valid user name and password are needed\n", _CHALLENGE)
        if is_reading:
            return
        if "origin" in headers:
            raise HTTPException(403, "a web page may not change anything here\n")
        # A connection that is older than the configuration may have no certificate.
        has_certificate = self._needs_certificate and scope.get("state", {}).get("has_certificate", False)
        if not (self._hashes or has_certificate or _is_loopback(scope["client"])):
            raise HTTPException(403, "changes from this address are refused; use loopback, or configure basic auth\n")

    async def _is_right(self, user: bytes, password: bytes) -> bool:
        """Return whether this is the password of the user; raises HTTPException if too many checks run or wait."""
        known = self._hashes.get(user)
        digest = blake2b(password, key=known or b"").digest()
        if self._digest_by_user.get(user) == digest:
            return True
        if self._check_slots.locked():
            raise HTTPException(503, "too many passwords are being checked; try again\n", {"Retry-After": "1"})
        async with self._check_slots, self._one_at_a_time:
            # While this request waited, another one with this user and password may have been checked.
            if self._digest_by_user.get(user) != digest:
                matches = await blocking(self._executor, bcrypt.checkpw, password[:_MOST_BYTES], known or self._slowest)
                if matches and known is not None:
                    self._digest_by_user[user] = digest
            return self._digest_by_user.get(user) == digest


def _is_loopback(client: tuple[str, int] | None) -> bool:
    # A client that has disconnected has no address. A socket for IPv4 and IPv6 shows an IPv4 address with this prefix.
    return client is not None and ip_address(client[0].removeprefix("::ffff:")).is_loopback


def _credentials(authorization: str) -> bytes:
    """Return the `name:password` of a header; empty if there is none."""
    scheme, _, encoded = authorization.strip().partition(" ")
    try:
        return base64.b64decode(encoded.strip(), validate=True) if scheme.lower() == "basic" else b""
    except ValueError:
        return b""
