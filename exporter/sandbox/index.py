"""The index of the control endpoints, with a command to try each of them."""

from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

PATHS: Final = ("/", "/sandbox", "/sandbox/")

_INDEX: Final = """\
A local platform. These commands control it.

Show ids, names, keys, and all events:
  curl URL/sandbox/world

Make something happen:
  curl -d '{"event": "scan_failed", "zone_id": 101}' URL/sandbox/world

Script a fault for the requests of a path, path_regex or method:
  curl -d '{"kind": "status", "status": 503, "path_regex": "/dnszone/.*", "times": 20}' URL/sandbox/faults

List the scripted faults, and how often each was used:
  curl URL/sandbox/faults

Remove one of them:
  curl -X DELETE URL/sandbox/faults/1

Remove all of them:
  curl -X DELETE URL/sandbox/faults

Show the world's time:
  curl URL/sandbox/clock

Advance the clock by a number of seconds, or change its speed:
  curl -d '{"advance": 86400, "speed": 60}' URL/sandbox/clock

Create tokens for the databases; regenerate invalidates the old ones:
  curl -d '{"action": "generate"}' URL/sandbox/tokens

Describe every operation of the platform:
  curl URL/openapi.json
"""


def routes() -> list[Route]:
    """Return the routes of the index."""
    return [Route(path, _on_index) for path in PATHS]


async def _on_index(request: Request) -> Response:
    return PlainTextResponse(written(str(request.base_url).rstrip("/")))


def written(url: str) -> str:
    """Write the index of a sandbox at an address."""
    return _INDEX.replace("URL", url)
