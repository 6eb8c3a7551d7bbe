"""Scripted faults: which of them applies to a request, and how often each may still be applied."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any, Final

from pydantic import ValidationError
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from exporter.sandbox.answers import encode
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.exchange import Exchange, NoConnectionError
from exporter.sandbox.fault_kinds import KINDS, Fault
from exporter.sandbox.request_parsing import RequestError, reasons

_EXEMPT: Final = re.compile(r"/|/openapi\.json|/sandbox(/.*)?", re.DOTALL)
_WORDS: Final = {"missing": "is missing", "extra_forbidden": "is not a field of this kind of fault"}


@dataclass(slots=True)
class Scripted:
    """A scripted fault, with the number of its uses."""

    fault_id: int
    kind: Fault
    hits: int = 0

    def summary(self) -> dict[str, Any]:
        """Return the fault as the control endpoint shows it."""
        left = None if self.kind.times is None else self.kind.times - self.hits
        return {"id": self.fault_id, **self.kind.model_dump(mode="json"), "left": left, "hits": self.hits}


class Faults:
    """The scripted faults; of those that apply to a request and are not used up, the oldest is used."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)  # noqa: S311 - repeatable, and no secret
        self._scripted: dict[int, Scripted] = {}
        self._next = 1

    def add(self, given: Mapping[str, Any], paths: Sequence[str] = ()) -> Scripted:
        """Script a fault.

        Args:
            given: the fields of the fault.
            paths: the paths of the platform; without any, a fault may be one that no request can meet.

        Raises:
            RequestError: the fields are not valid, or the fault's path or pattern matches none of the paths.
        """
        model = KINDS.get(str(given.get("kind")))
        if model is None:
            raise RequestError(f"kind: must be one of {', '.join(KINDS)}")
        try:
            kind = model.model_validate(given)
        except ValidationError as error:
            raise RequestError(*reasons(error, _WORDS)) from error
        if paths and not any(kind.can_meet(path) for path in paths):
            field = "path" if kind.path_regex is None else "path_regex"
            raise RequestError(f"{field}: matches no path of the platform; /dnszone/.* matches /dnszone/101/statistics")
        added = self._scripted[self._next] = Scripted(self._next, kind)
        self._next += 1
        return added

    def all(self) -> list[Scripted]:
        """Return every fault, including those that are used up."""
        return list(self._scripted.values())

    def remove(self, fault_id: int) -> bool:
        """Remove a fault; return whether it existed."""
        return self._scripted.pop(fault_id, None) is not None

    def clear(self) -> None:
        """Remove all faults."""
        self._scripted.clear()

    def take_for(self, method: str, path: str) -> Fault | None:
        """Return the fault for a request, and count its use; None if there is none."""
        for scripted in self._scripted.values():
            kind = scripted.kind
            if scripted.hits == kind.times or not kind.applies_to(method, path):
                continue
            if kind.probability == 1 or self.random.random() < kind.probability:
                scripted.hits += 1
                return kind
        return None


class FaultGate:
    """ASGI middleware that passes requests to the operations, except those that a scripted fault applies to.

    It gives each response the date of the world's clock.
    """

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
            return
        random_bytes = self._faults.random.randbytes
        exchange = Exchange(self._app, scope, receive, dated, self._clock.now, random_bytes)
        try:
            await fault.apply(exchange)
        except NoConnectionError:
            await exchange.answer(500, "application/json", encode({"detail": f"{fault.kind} needs a connection"}))
