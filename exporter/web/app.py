"""Routes requests to the exporter's endpoints: metrics, health, status, API and reload."""

from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from hashlib import sha256
from importlib.resources import files
from urllib.parse import quote

from isal import igzip
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from exporter.assets.shipped import AssetError
from exporter.blocking import blocking
from exporter.web.api import ENDPOINTS, Endpoint, encode, explain
from exporter.web.headers import PAGE_POLICY, accepts_gzip, with_headers
from exporter.web.http_sd import INCOMPLETE, discover, groups
from exporter.web.metrics import MetricsEndpoint
from exporter.web.page.page import render, status_values
from exporter.web.status import Json, View
from exporter.web.target_page import target_values
from exporter.web.target_query import ON_PAGE, QueryError, parse_query

# Reloads the configuration, and returns its faults; none if it is now in force.
Reload = Callable[[], Awaitable[tuple[str, ...]]]

_HTML = "text/html; charset=utf-8"
_JSON = "application/json"
_LEAST_COMPRESSED = 1024
# The pages' own files.
_STATIC = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_READING = frozenset({"GET", "HEAD"})
_BODY = frozenset({"content-length", "transfer-encoding"})


class _Endpoints:
    """The endpoints."""

    def __init__(self, view: View, metrics: MetricsEndpoint, reload: Reload, executor: Executor) -> None:
        self._view = view
        self._metrics = metrics
        self._reload = reload
        self._executor = executor
        self._runbooks: Mapping[str, Markup] = {}
        folder = files("exporter.web.page") / "static"
        self._static = {name: (folder / name).read_text(encoding="utf-8") for name in _STATIC}

    async def healthy(self, _request: Request) -> Response:
        """`/-/healthy`: 200 while the event loop, the scheduler, the ledger and the renderer run, else 503."""
        ailment = self._view.readiness.ailment()
        return PlainTextResponse(f"{ailment or 'healthy'}\n", 503 if ailment else 200)

    async def ready(self, _request: Request) -> Response:
        """`/-/ready`: 200 once discovery has ended, a call was authenticated and counts were saved; 503 before."""
        waits_for = self._view.readiness.waits_for()
        spare = self._view.process().spare
        # A roll-out that replaces the exporters for which this one waits must go on.
        ready = f"ready, {spare}\n" if spare else "ready\n"
        return PlainTextResponse(f"not ready: {waits_for}\n" if waits_for else ready, 503 if waits_for else 200)

    async def reload(self, request: Request) -> Response:
        """`/-/reload`: reload the configuration, or answer 400 with its faults; the request's body is ignored."""
        faults = await self._reload()
        # The request's body is not read, so the connection must be closed.
        headers = {"Connection": "close"} if _BODY & set(request.headers) else None
        text = "".join(f"{fault}\n" for fault in faults) or "reloaded\n"
        return PlainTextResponse(text, 400 if faults else 200, headers)

    async def page(self, request: Request) -> Response:
        """`/`: the status page."""
        known = self._view.known()
        query = parse_query(request.query_params.multi_items(), known, ON_PAGE)
        pairs = self._view.pairs()
        status, (found, census) = self._view.status(pairs), self._view.targets(query, pairs)
        return await self._page(request, "status.html", status_values(status, found, census, query, known))

    async def target(self, request: Request) -> Response:
        """`/target/{kind}/{id}`; the id may contain slashes."""
        kind, target_id = request.path_params["kind"], request.path_params.get("id", "")
        given = request.query_params.multi_items()
        values = await target_values(self._view, self._metrics.select, kind, target_id, given)
        # As many segments as the browser has seen, which may be behind a proxy.
        path = request.scope["raw_path"][len(request.scope.get("root_path", "")) :]
        return await self._page(request, "target.html", {"root": "../" * (path.count(b"/") - 1), **values})

    async def explanation(self, request: Request) -> Response:
        """`/explain`: the content of `/api/v1/explain` as a page."""
        return await self._page(request, "explanation.html", explain(self._view, request.query_params.multi_items()))

    async def runbook(self, request: Request) -> Response:
        """`/runbooks/ALERT` and `/runbooks/ALERT.md`: the runbook of an alert; `/runbooks/`: the index."""
        name = request.path_params.get("name", "README").removesuffix(".md")

        try:
            self._runbooks = self._runbooks or await blocking(self._executor, _load_runbooks)
        except AssetError as error:
            raise HTTPException(404, str(error)) from None
        if name not in self._runbooks:
            raise HTTPException(404, "no alert has a runbook of this name; /runbooks/ lists them")
        values = {"root": "../", "name": name, "content": self._runbooks[name]}
        return await self._page(request, "runbook.html", values)

    async def discovery(self, request: Request) -> Response:
        """`/sd/{kind}`."""
        found, unknown = discover(self._view, request.path_params["kind"], request.query_params)
        # An account's name may have any letters, and a header has none beyond ASCII.
        headers = {INCOMPLETE: quote(",".join(unknown), safe=",")} if unknown else {}
        return await self._answer(request, groups(found), _JSON, headers)

    def json(self, endpoint: Endpoint) -> Route:
        """Return the route of an endpoint below `/api/v1/`."""

        async def answer(request: Request) -> Response:
            answered = endpoint.answer(self._view, request.query_params.multi_items())
            return await self._answer(request, encode(answered) + "\n", _JSON, {})

        return Route(f"/api/v1/{endpoint.path}", answer)

    async def static(self, request: Request) -> Response:
        """`/static/…`: the pages' style sheet, script and icon; `/favicon.ico`: the icon, for what is no page."""
        name = request.path_params.get("name", "icon.svg")
        if name not in self._static:
            raise HTTPException(404)
        tag = f'"{sha256(self._static[name].encode()).hexdigest()[:16]}"'
        headers = {"Cache-Control": "no-cache", "ETag": tag}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers={**headers, "Vary": "Accept-Encoding"})
        return await self._answer(request, self._static[name], _STATIC[name], headers)

    async def _page(self, request: Request, template: str, values: Json) -> Response:
        page = render(template, {"version": self._view.version, **values})
        return await self._answer(request, page, _HTML, {"Content-Security-Policy": PAGE_POLICY})

    async def _answer(self, request: Request, text: str, media_type: str, headers: dict[str, str]) -> Response:
        headers = {"Cache-Control": "no-store", "Vary": "Accept-Encoding", **headers}
        body = text.encode("utf-8", "replace")
        if len(body) >= _LEAST_COMPRESSED and accepts_gzip(request.headers.get("accept-encoding", "")):
            body = await blocking(self._executor, igzip.compress, body, 1)
            headers["Content-Encoding"] = "gzip"
        return Response(body, media_type=media_type, headers=headers)


def _load_runbooks() -> Mapping[str, Markup]:
    from exporter.web.page.runbooks import load_runbooks  # noqa: PLC0415 - imports a Markdown parser, which takes 0.3 s

    return load_runbooks()


async def _refusal(_request: Request, error: Exception) -> Response:
    """Answer an error in one line, which names neither the software nor its paths."""
    if isinstance(error, QueryError):
        return PlainTextResponse(f"{error}\n", 400)
    if not isinstance(error, HTTPException):
        return PlainTextResponse("internal error; see the exporter's log\n", 500)
    return PlainTextResponse(f"{error.detail}\n", error.status_code, error.headers)


def create_app(
    view: View,
    reload: Reload,
    executor: Executor,
    session: Callable[[], int] = lambda: 1,
    *,
    route_prefix: str = "/",
) -> ASGIApp:
    """Build the application that serves all endpoints below a prefix.

    `executor` loads and compresses pages; `session` is that of `MetricsEndpoint`.
    """
    metrics = MetricsEndpoint(view.renderer, lambda: view.known().collectors, view.not_polled, session)
    endpoints = _Endpoints(view, metrics, reload, executor)
    routes: list[BaseRoute] = [
        Route("/metrics", metrics, methods=["GET"]),
        Route("/-/healthy", endpoints.healthy),
        Route("/-/ready", endpoints.ready),
        Route("/-/reload", endpoints.reload, methods=["POST"]),
        *map(endpoints.json, ENDPOINTS),
        Route("/target/{kind}", endpoints.target),
        Route("/target/{kind}/{id:path}", endpoints.target),
        Route("/explain", endpoints.explanation),
        # A relative redirect works behind a proxy that changes the path.
        Route("/runbooks", RedirectResponse("runbooks/"), methods=["GET"]),
        Route("/runbooks/", endpoints.runbook),
        Route("/runbooks/{name}", endpoints.runbook),
        Route("/sd/{kind}", endpoints.discovery),
        Route("/static/{name}", endpoints.static),
        Route("/favicon.ico", endpoints.static),
        Route("/", endpoints.page),
    ]
    prefix = route_prefix.rstrip("/")
    if prefix:
        # The redirect is relative, so that it works behind a proxy that changes the path.
        home = RedirectResponse(prefix.rpartition("/")[2] + "/")
        below = Router(routes, redirect_slashes=False)
        routes = [Route(prefix, home, methods=["GET"]), Mount(prefix, below)]
    app = Starlette(routes=routes, exception_handlers=dict.fromkeys((HTTPException, QueryError, Exception), _refusal))
    # A redirect to the path without its last slash would contain the host of the request, which can be false.
    app.router.redirect_slashes = False

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        # A scrape goes without routing and the middleware of the pages.
        is_scrape = scope["type"] == "http" and scope["path"] == f"{prefix}/metrics" and scope["method"] in _READING
        if is_scrape:
            await metrics(scope, receive, send)
        else:
            await app(scope, receive, with_headers(send))

    return serve
