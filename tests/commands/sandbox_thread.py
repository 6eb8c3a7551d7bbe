"""Runs a sandbox on its own thread, for commands that run their own event loop."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.middleware.base import RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.faults import Faults
from exporter.sandbox.sandbox_server import create_app
from exporter.sandbox.world import World
from tests.exporter_parts import served, still

NOON = 1_770_379_200.0  # 2026-02-06T12:00:00Z, a Friday


@dataclass
class Platform:
    """A running sandbox.

    Attributes:
        faults: the scripted faults.
        noted: method, path with query, and body of the requests.
    """

    url: str
    faults: Faults
    world: World
    noted: list[tuple[str, str, bytes]]

    def prepare(self, case: Iterable[str]) -> None:
        """Forget all requests and faults, and script the faults of a case: its lines `fault JSON`."""
        self.noted.clear()
        self.faults.clear()
        for line in case:
            if line.startswith("fault "):
                self.faults.add(json.loads(line.removeprefix("fault ")))


@contextmanager
def running(*, is_present: bool = False, **sizes: Any) -> Iterator[Platform]:
    """Run a sandbox with a number of DNS zones, scripts and shield zones; its clock is fixed or real."""
    ready = Future[tuple[Platform, Callable[[], object]]]()

    async def serve() -> None:
        world = World(**sizes) if is_present else still(NOON, **sizes)
        app = create_app(world)
        noted: list[tuple[str, str, bytes]] = []

        @app.middleware("http")
        async def note(request: Request, answer: RequestResponseEndpoint) -> Response:
            path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            noted.append((request.method, path, await request.body()))
            return await answer(request)

        async with served(app) as url:
            ended = asyncio.Event()
            loop = asyncio.get_running_loop()
            platform = Platform(url, app.state.faults, world, noted)
            ready.set_result((platform, lambda: loop.call_soon_threadsafe(ended.set)))
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="platform")
    thread.start()
    platform, end = ready.result(10)
    try:
        yield platform
    finally:
        end()
        thread.join(10)
