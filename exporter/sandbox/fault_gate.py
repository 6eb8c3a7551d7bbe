"""Decides for each request whether an operation answers it or a scripted fault."""

import re
from email.utils import formatdate
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from exporter.sandbox.exchange import Exchange
from exporter.sandbox.faults import Faults
from exporter.sandbox.world_clock import WorldClock

_EXEMPT: Final = re.compile(r"/|/openapi\.json|/sandbox(/.*)?", re.DOTALL)


class FaultGate:
    """ASGI middleware, which also gives each response the date of the world's clock."""

    def __init__(self, app: ASGIApp, faults: Faults, clock: WorldClock) -> None:
        self._app = app
        self._faults = faults
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or apply a fault to it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault("date", formatdate(self._clock.now(), usegmt=True))
            await send(message)

        method, path = scope["method"], scope["path"]
        fault = None if _EXEMPT.fullmatch(path) else self._faults.take_for(method, path)
        if method == "HEAD":
            # The server leaves out the body.
            scope = {**scope, "method": "GET"}
        if fault is None:
            await self._app(scope, receive, dated)
        else:
            await fault.apply(
                Exchange(self._app, scope, receive, dated, self._clock.now, self._faults.random.randbytes)
            )
