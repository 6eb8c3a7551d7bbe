"""`/metrics`: the exposition, or the part of it that a filter selects."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from exporter.exposition.compressed_segments import SEGMENT_BYTES
from exporter.exposition.exposition import Filter, Format
from exporter.http_server.protocol import ReadyAnswer
from exporter.web.negotiation import MOST_REMEMBERED, negotiate
from exporter.web.parts import Parts
from exporter.web.security_headers import SECURITY_HEADERS, with_headers
from exporter.web.target_statuses import all_statuses

READING = ("GET", "HEAD")
PARAMETERS = ("name[]", "collect[]", "target")
MOST_VALUES = 1000
MOST_QUOTED = 100
# After this many pieces of an answer, other tasks of the event loop run, even if the client is fast.
STRETCH_PIECES = 4
EVERYTHING = Filter()
# The most bytes of an answer that is sent in one piece: while the client does not read, the answer stays in memory.
LARGEST_AT_ONCE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class MetricsEndpoint:
    """Serves the exposition; counters of targets are left out while `Ledger.may_serve` is false.

    The ledger is asked at each scrape: while this process was suspended, another exporter may have begun to count.
    """

    parts: Parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a scrape."""
        form, gzip = negotiate(scope["headers"])
        wanted = self._filter_or_refusal(scope)
        if isinstance(wanted, PlainTextResponse):
            await wanted(scope, receive, with_headers(send))
        elif wanted == EVERYTHING and self.parts.ledger.may_serve():
            body = self.parts.renderer.current.bodies[form]
            if gzip:
                await _send(send, form, _cut(body.packed), len(body.packed), gzip=True)
            else:
                await _send(send, form, body.plain(), body.size, gzip=False)
        else:
            selected = await self.select(wanted, form, gzip=gzip)
            await _send(send, form, _cut(selected), len(selected), gzip=gzip)

    def ready(self, scope: Scope) -> ReadyAnswer | None:
        """Return the answer if it can be sent at once (gzip, no filter, all counters, not too large); else None."""
        form, gzip = negotiate(scope["headers"])
        body = self.parts.renderer.current.bodies[form].packed
        is_sent_at_once = gzip and not scope["query_string"] and len(body) <= LARGEST_AT_ONCE
        if not is_sent_at_once or not self.parts.ledger.may_serve():
            return None
        return _headers(form, len(body), gzip=True), body

    async def select(self, wanted: Filter, form: Format, *, gzip: bool = False) -> bytes:
        """Return the part of the exposition that a filter selects, without counters if `Ledger.may_serve` is false."""
        while True:
            has_counters = self.parts.ledger.may_serve()
            selected = await self.parts.renderer.select(replace(wanted, has_counters=has_counters), form, gzip=gzip)
            # Another exporter may have begun to count during the selection.
            if not has_counters or self.parts.ledger.may_serve():
                return selected

    def _filter_or_refusal(self, scope: Scope) -> Filter | PlainTextResponse:
        if scope["method"] not in READING:
            return PlainTextResponse("Method Not Allowed\n", 405, {"Allow": ", ".join(READING)})
        text = scope["query_string"].decode("latin-1")
        if not text:
            return EVERYTHING
        try:
            query = parse_qs(text, keep_blank_values=True, max_num_fields=MOST_VALUES)
        except ValueError:
            return PlainTextResponse(f"there are more than {MOST_VALUES} parameters\n", status_code=400)
        names, collectors, targets = (frozenset(query.get(name, ())) for name in PARAMETERS)
        known = frozenset(self.parts.schedule.plans)
        if unknown := sorted(collectors - known):
            enabled = ", ".join(sorted(known)) or "none"
            message = f"no collector {unknown[0][:MOST_QUOTED]!r} is enabled; there are: {enabled}\n"
            return PlainTextResponse(message, status_code=400)
        polled = {one.target.key.label for one in all_statuses(self.parts)} if targets else set[str]()
        if unknown := sorted(targets - polled):
            message = f"{unknown[0][:MOST_QUOTED]!r} is not polled here; /api/v1/targets lists the targets\n"
            return PlainTextResponse(message, status_code=404)
        return Filter(names, collectors, targets)


def _cut(body: bytes) -> Iterator[bytes]:
    return (body[begin : begin + SEGMENT_BYTES] for begin in range(0, len(body), SEGMENT_BYTES))


async def _send(send: Send, form: Format, pieces: Iterable[bytes], size: int, *, gzip: bool) -> None:
    """Send an answer in pieces, so that few pieces are buffered for a slow client. uvicorn sends no body for HEAD."""
    await send({"type": "http.response.start", "status": 200, "headers": _headers(form, size, gzip=gzip)})
    for number, piece in enumerate(pieces, 1):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        if number % STRETCH_PIECES == 0:
            await asyncio.sleep(0)
    await send({"type": "http.response.body"})


@lru_cache(maxsize=MOST_REMEMBERED)
def _headers(form: Format, size: int, *, gzip: bool) -> list[tuple[bytes, bytes]]:
    own = [(b"content-type", form.value.encode()), (b"content-length", b"%d" % size)]
    encoding = [(b"content-encoding", b"gzip")] if gzip else []
    return [*own, (b"vary", b"Accept, Accept-Encoding"), *SECURITY_HEADERS, *encoding]
