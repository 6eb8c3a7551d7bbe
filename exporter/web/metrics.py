"""`/metrics`: the rendered bytes of the current generation, or the part of it that a filter selects."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from exporter.exposition.exposition import Filter, Format
from exporter.exposition.renderer import Renderer
from exporter.web.headers import ALWAYS, accepts_gzip, choose_format, with_headers

PARAMETERS = ("name[]", "collect[]", "target")
MOST_VALUES = 1000
MOST_QUOTED = 100
LARGEST_PIECE = 512 * 1024
STRETCH_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class MetricsEndpoint:
    """Serves the exposition; a scrape renders nothing.

    Attributes:
        collectors: returns the names that `collect[]` accepts.
        not_polled: labels of targets → those of which no target is polled here, in order.
        session: returns a number that changes when another exporter may have counted in between; 0 while the counters
            of targets may not be served. It is called in each request, as this process may have been suspended.
    """

    renderer: Renderer
    collectors: Callable[[], Iterable[str]]
    not_polled: Callable[[Collection[str]], Sequence[str]]
    session: Callable[[], int] = lambda: 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a scrape."""
        headers = Headers(scope=scope)
        form = choose_format(",".join(headers.getlist("accept")))
        gzip = accepts_gzip(",".join(headers.getlist("accept-encoding")))
        wanted = self._wanted(scope["query_string"])
        if isinstance(wanted, PlainTextResponse):
            await wanted(scope, receive, with_headers(send))
            return
        pieces: Iterable[bytes]
        if wanted == Filter() and self.session():
            ready = self.renderer.current.bodies[form]
            if gzip:
                self.renderer.exposition.packed.add(form)
            pieces = ready.packed() if gzip else ready.pieces
            size = sum(map(len, pieces))
        else:
            selected = await self.select(wanted, form, gzip=gzip)
            pieces, size = (selected,), len(selected)
        await _send(send, form, pieces, size, gzip=gzip, is_head=scope["method"] == "HEAD")

    async def select(self, wanted: Filter, form: Format, *, gzip: bool = False) -> bytes:
        """Return the part of the exposition that a filter selects, without counters that may not be served now."""
        while True:
            session = self.session()
            own = replace(wanted, has_counters=session > 0)
            selected = await self.renderer.select(own, form, gzip=gzip)
            # Another exporter may have begun to count since this answer was begun.
            if not session or self.session() == session:
                return selected

    def _wanted(self, query_string: bytes) -> Filter | PlainTextResponse:
        """Read the filter of a query string; return the refusal if it is invalid."""
        if not query_string:
            return Filter()
        try:
            query = parse_qs(query_string.decode("latin-1"), keep_blank_values=True, max_num_fields=MOST_VALUES)
        except ValueError:
            return PlainTextResponse(f"there are more than {MOST_VALUES} parameters\n", status_code=400)
        names, collectors, targets = (frozenset(query.get(name, ())) for name in PARAMETERS)
        known = frozenset(self.collectors())
        for unknown in sorted(collectors - known):
            words = f"no collector is named {unknown[:MOST_QUOTED]!r}; there are: {', '.join(sorted(known))}\n"
            return PlainTextResponse(words, status_code=400)
        for unknown in self.not_polled(targets):
            words = f"{unknown[:MOST_QUOTED]!r} is not a target that is polled here; /api/v1/targets lists them\n"
            return PlainTextResponse(words, status_code=404)
        return Filter(names, collectors, targets)


async def _send(send: Send, form: Format, pieces: Iterable[bytes], size: int, *, gzip: bool, is_head: bool) -> None:
    headers = [
        (b"content-type", form.value.encode()),
        (b"content-length", b"%d" % size),
        (b"vary", b"Accept, Accept-Encoding"),
        *ALWAYS,
    ]
    if gzip:
        headers.append((b"content-encoding", b"gzip"))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    left, unyielded = 0 if is_head else size, 0
    for piece in (b"",) if is_head else _cut(pieces):
        left -= len(piece)
        await send({"type": "http.response.body", "body": piece, "more_body": left > 0})
        if not left:
            return
        unyielded += len(piece)
        # Let other tasks of the loop run, even if the client is fast.
        if unyielded >= STRETCH_BYTES:
            unyielded = 0
            await asyncio.sleep(0)


def _cut(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces, large ones cut: a slow client keeps one piece at a time in memory."""
    for piece in pieces:
        if len(piece) <= LARGEST_PIECE:
            yield piece
        else:
            yield from (piece[start : start + LARGEST_PIECE] for start in range(0, len(piece), LARGEST_PIECE))
