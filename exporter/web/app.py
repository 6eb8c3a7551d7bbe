"""Routes requests to the exporter's endpoints."""

import json
from collections.abc import Awaitable, Callable, Iterable
from importlib.resources import files
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from exporter.http_server.protocol import ReadyAnswer
from exporter.untrusted.terminal import escape
from exporter.web.absences import explain
from exporter.web.http_sd import INCOMPLETE, discover
from exporter.web.metrics_endpoint import MetricsEndpoint
from exporter.web.page.page import render
from exporter.web.parts import Parts
from exporter.web.security_headers import with_headers
from exporter.web.status import health, status_of
from exporter.web.target_page import target_page
from exporter.web.target_statuses import PAGE_ROWS, find_targets
from exporter.web.url_fields import Json

# Reloads the configuration, and returns its faults; empty if the configuration is in force now.
Reload = Callable[[], Awaitable[tuple[str, ...]]]

# Small answers are not compressed. Others are compressed at the fastest level, because each is sent only once.
GZIP = Middleware(GZipMiddleware, minimum_size=1024, compresslevel=1)
# The name of a file that the pages load → the file's media type.
_STATIC = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


class Application:
    """Serves the endpoints below a prefix. A scrape bypasses routing and the middleware of the pages."""

    def __init__(self, parts: Callable[[], Parts], prefix: str, pages: ASGIApp) -> None:
        self._path = f"{prefix}/metrics"
        self._parts, self._pages = parts, pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["path"] == self._path:
            await MetricsEndpoint(self._parts())(scope, receive, send)
        else:
            await self._pages(scope, receive, with_headers(send))

    def ready(self, scope: Scope) -> ReadyAnswer | None:
        """Return the answer to a scrape if the answer can be sent at once; otherwise, and for other requests, None."""
        return MetricsEndpoint(self._parts()).ready(scope) if scope["path"] == self._path else None


class _Endpoints:
    def __init__(self, parts: Callable[[], Parts], reload: Reload) -> None:
        self._parts = parts
        self._reload = reload
        folder = files("exporter.web.page") / "static"
        self._static = {name: (folder / name).read_bytes() for name in _STATIC}

    async def healthy(self, _request: Request) -> Response:
        parts = self._parts()
        found, now = health(parts), parts.clocks.wall()
        lines = [found["ailment"] or "healthy"]
        for name, succeeded in found["rounds"].items():
            last = "no success yet" if succeeded is None else f"last success {now - succeeded:.0f} s ago"
            lines.append(f"{name}: {last}")
        return _lines(lines, 503 if found["ailment"] else 200)

    async def ready(self, _request: Request) -> Response:
        parts = self._parts()
        found = health(parts)
        if found["waits_for"]:
            return _lines([f"not ready: {found['waits_for']}"], 503)
        parts.process().was_ready.set()
        # A spare counts as ready: a roll-out stops the exporter that has the shard only when the new one is ready.
        return _lines([f"ready, {found['spare']}" if found["spare"] else "ready"])

    async def reload(self, _request: Request) -> Response:
        faults = await self._reload()
        return _lines(faults or ["reloaded"], 400 if faults else 200)

    async def status(self, request: Request) -> Response:
        parts = self._parts()
        found = find_targets(parts, request.query_params, PAGE_ROWS)
        return self._page("status.html", {"status": status_of(parts), "found": found})

    async def target(self, request: Request) -> Response:
        values = await target_page(self._parts(), request.path_params["target"], request.query_params)
        # Relative links also work behind a proxy. For a browser, `%2F` is no slash, so the path is not decoded here.
        path = request.scope["raw_path"][len(request.scope.get("root_path", "")) :].removeprefix(b"/")
        return self._page("target.html", {"root": "../" * path.count(b"/"), **values})

    async def explanation(self, request: Request) -> Response:
        return self._page("explanation.html", await explain(self._parts(), request.query_params))

    async def discovery(self, request: Request) -> Response:
        found, incomplete = discover(self._parts(), request.path_params["kind"], request.query_params)
        answer = _json(found)
        if incomplete:
            # A header may contain only ASCII characters; an account's name may contain others.
            answer.headers[INCOMPLETE] = quote(",".join(incomplete), safe=",")
        return answer

    async def json(self, request: Request) -> Response:
        parts, query = self._parts(), request.query_params
        match request.path_params["name"]:
            case "status":
                return _json(status_of(parts))
            case "targets":
                return _json(find_targets(parts, query))
            case "explain":
                return _json(await explain(parts, query))
        raise HTTPException(404)

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._static:
            raise HTTPException(404)
        return Response(self._static[name], media_type=_STATIC[name])

    def _page(self, template: str, values: Json) -> Response:
        return HTMLResponse(render(template, {"version": self._parts().version, **values}))


def _lines(lines: Iterable[str], status: int = 200) -> Response:
    # Escaped, because the name of a file may have characters that cannot be sent.
    return PlainTextResponse("".join(f"{escape(line)}\n" for line in lines), status)


def _json(value: object) -> Response:
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Response(f"{text}\n", media_type="application/json")


async def _refusal(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        return PlainTextResponse("internal error; see the exporter's log\n", 500)
    return PlainTextResponse(f"{escape(error.detail)}\n", error.status_code, error.headers)


def create_app(parts: Callable[[], Parts], reload: Reload, *, route_prefix: str = "/") -> Application:
    """Build the application that serves the endpoints below a prefix; `parts` returns the parts that run now."""
    endpoints = _Endpoints(parts, reload)
    routes: list[BaseRoute] = [
        Route("/-/healthy", endpoints.healthy),
        Route("/-/ready", endpoints.ready),
        Route("/-/reload", endpoints.reload, methods=["POST"]),
        Route("/api/v1/{name}", endpoints.json),
        Route("/target/{target:path}", endpoints.target),
        Route("/explain", endpoints.explanation),
        Route("/sd/{kind}", endpoints.discovery),
        Route("/static/{name}", endpoints.static),
        Route("/", endpoints.status),
    ]
    prefix = route_prefix.rstrip("/")
    if prefix:
        # The redirect is relative, so that it works behind a proxy that changes the path.
        home = RedirectResponse(prefix.rpartition("/")[2] + "/")
        below = Router(routes, redirect_slashes=False)
        routes = [Route(prefix, home, methods=["GET"]), Mount(prefix, below)]
    handlers = dict.fromkeys((HTTPException, Exception), _refusal)
    app = Starlette(routes=routes, middleware=[GZIP], exception_handlers=handlers)
    # Starlette's redirect to the path without its last slash would contain the header `Host`, which the client chooses.
    app.router.redirect_slashes = False
    return Application(parts, prefix, app)
