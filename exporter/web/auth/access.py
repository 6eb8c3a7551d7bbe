"""Who may ask for what: basic auth, and care with requests that change something."""

import asyncio
import base64
import binascii
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from ipaddress import ip_address
from urllib.parse import urlsplit

import bcrypt
from pydantic import SecretStr
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from exporter.web.auth.web_config import WebConfig, WebConfigError, load_web_config

__all__ = ["AccessControl", "PasswordCheck", "WebConfig", "WebConfigError", "load_web_config"]

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN_PATHS = ("/-/healthy", "/-/ready")
_CHALLENGE = b'Basic realm="edge-exporter", charset="UTF-8"'
_LONGEST_CREDENTIALS = 8192
_LONGEST_PASSWORD = 72  # bcrypt looks no further
_MOST_REMEMBERED = 256
_CHECKS_AT_ONCE = 2

_Headers = tuple[tuple[bytes, bytes], ...]


class PasswordCheck:
    """Checks passwords against bcrypt hashes, which is slow on purpose; what was right once is remembered.

    What is remembered is a digest under a key of this process alone. A name that is not known costs what a wrong
    password costs, so that nobody learns by the clock which names there are.
    """

    def __init__(self, users: Mapping[str, SecretStr], key: bytes) -> None:
        self._hashes = {user.encode(): secret.get_secret_value().encode() for user, secret in users.items()}
        self._decoys = sorted({_decoy(known) for known in self._hashes.values()})
        self._key = key
        self._remembered: OrderedDict[bytes, None] = OrderedDict()
        self._turns = asyncio.Semaphore(_CHECKS_AT_ONCE)

    async def admits(self, user: bytes, password: bytes) -> bool:
        """Whether the password is the user's."""
        known = self._hashes.get(user)
        entry = self._digest(user, known or b"", password)
        if self._recalls(entry):
            return True
        hashed = known or self._decoys[int.from_bytes(self._digest(user)) % len(self._decoys)]
        async with self._turns:
            if self._recalls(entry):  # another request with the same password was before us
                return True
            is_right = await asyncio.to_thread(bcrypt.checkpw, password[:_LONGEST_PASSWORD], hashed)
        if known is None or not is_right:
            return False
        self._remembered[entry] = None
        if len(self._remembered) > _MOST_REMEMBERED:
            self._remembered.popitem(last=False)
        return True

    def _recalls(self, entry: bytes) -> bool:
        if entry not in self._remembered:
            return False
        self._remembered.move_to_end(entry)
        return True

    def _digest(self, *parts: bytes) -> bytes:
        digest = blake2b(key=self._key, digest_size=32)
        for part in parts:
            digest.update(len(part).to_bytes(8))
            digest.update(part)
        return digest.digest()


def _decoy(known: bytes) -> bytes:
    """A hash of the same cost that no password has."""
    return b"$2b$" + known[4:6] + b"$" + b"." * 53


class AccessControl:
    """ASGI middleware that lets those in whom the web configuration names.

    Where it names users, every request needs a user's password, the health endpoints' aside. A request that changes
    something needs the same, or a client's certificate where these are required; where neither is configured it is
    taken from this machine alone, and never from another site's page in somebody's browser.
    """

    def __init__(self, app: ASGIApp, config: WebConfig, *, route_prefix: str = "/", key: bytes | None = None) -> None:
        self._app = app
        self._open_paths = frozenset(route_prefix.rstrip("/") + path for path in _OPEN_PATHS)
        self._key = secrets.token_bytes(32) if key is None else key
        self.replace(config)

    def replace(self, config: WebConfig) -> None:
        """Let in those whom another configuration names, from now on; every password is checked anew."""
        users = config.basic_auth_users
        self._check = PasswordCheck(users, self._key) if users else None
        tls = config.tls_server_config
        self._client_auth = "NoClientCert" if tls is None else tls.client_auth_type
        headers = config.http_server_config.headers.items()
        self._headers: _Headers = tuple((name.lower().encode(), value.encode()) for name, value in headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, or refuse, one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._serve(scope, receive, _with_headers(send, self._headers) if self._headers else send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_reading = scope["method"] in _READING
        if is_reading and scope["path"] in self._open_paths:
            await self._app(scope, receive, send)
            return
        if self._check is not None and not await self._is_admitted(self._check, scope):
            challenge = ((b"www-authenticate", _CHALLENGE),)
            await _refuse(send, 401, "a user name and a password are needed", challenge)
            return
        refusal = None if is_reading else self._refusal_to_change(scope)
        if refusal is not None:
            await _refuse(send, 403, refusal)
            return
        await self._app(scope, receive, send)

    async def _is_admitted(self, check: PasswordCheck, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        credentials = _credentials(given[0]) if len(given) == 1 else None
        return credentials is not None and await check.admits(*credentials)

    def _refusal_to_change(self, scope: Scope) -> str | None:
        """Why a request that changes something is refused, although its password, if one is needed, is right."""
        if _comes_from_another_site(scope):
            return "another site's page may not change anything here"
        if self._check is not None or self._client_auth == "RequireAndVerifyClientCert":
            return None
        if self._client_auth != "NoClientCert":
            return "changes need a client's certificate, which client_auth_type does not require; configure basic auth"
        return (
            None if _is_local(scope) else "changes are taken from this machine alone; configure basic auth for others"
        )


def _credentials(header: bytes) -> tuple[bytes, bytes] | None:
    scheme, _, encoded = header.strip().partition(b" ")
    if scheme.lower() != b"basic" or len(encoded) > _LONGEST_CREDENTIALS:
        return None
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True)
    except binascii.Error:
        return None
    user, colon, password = decoded.partition(b":")
    return (user, password) if colon else None


def _comes_from_another_site(scope: Scope) -> bool:
    headers: dict[bytes, bytes] = dict(scope["headers"])
    origin = headers.get(b"origin")
    if origin is None:
        return False
    try:
        site = urlsplit(origin.decode("latin-1")).netloc.lower()
    except ValueError:
        return True
    return site != headers.get(b"host", b"").decode("latin-1").lower()


def _is_local(scope: Scope) -> bool:
    client = scope.get("client")
    try:
        address = ip_address(client[0]) if client else None
    except ValueError:
        return False
    if address is None:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _with_headers(send: Send, headers: _Headers) -> Send:
    names = frozenset(name for name, _ in headers)

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [(name, value) for name, value in message.get("headers", ()) if name.lower() not in names]
            message = {**message, "headers": [*kept, *headers]}
        await send(message)

    return send_with_headers


async def _refuse(send: Send, status: int, reason: str, headers: _Headers = ()) -> None:
    body = f"{reason}\n".encode()
    own = ((b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})
