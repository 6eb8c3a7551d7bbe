"""The security headers of the endpoints' answers."""

from collections.abc import Iterable

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

# What an answer may load and do in a browser. Answers other than pages load nothing.
_POLICY = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    b"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
SECURITY_HEADERS = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


def with_headers(send: Send, headers: Iterable[tuple[bytes, bytes]] = SECURITY_HEADERS) -> Send:
    """Return a `send` that adds these headers to an answer; the answer's own headers of these names are replaced."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = MutableHeaders(scope=message)
            for name, value in headers:
                own[name.decode()] = value.decode()
        await send(message)

    return send_with_headers
