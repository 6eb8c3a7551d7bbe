"""The index of the control endpoints, with a command to try each of them."""

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

PATHS: Final = ("/", "/sandbox", "/sandbox/")


@dataclass(frozen=True, slots=True)
class _Entry:
    """What can be done.

    Attributes:
        words: the arguments of curl before the address.
    """

    does: str
    path: str
    words: str = ""


_ENTRIES: Final = (
    _Entry("Show ids, names, keys, and all events", "/sandbox/world"),
    _Entry("Make something happen", "/sandbox/world", """-d '{"event": "scan_failed", "zone_id": 101}'"""),
    _Entry(
        "Script a fault for the requests of a path, path_regex or method",
        "/sandbox/faults",
        """-d '{"kind": "status", "status": 503, "path_regex": "/dnszone/.*", "times": 20}'""",
    ),
    _Entry("List the scripted faults, and how often each was used", "/sandbox/faults"),
    _Entry("Remove one of them", "/sandbox/faults/1", "-X DELETE"),
    _Entry("Remove all of them", "/sandbox/faults", "-X DELETE"),
    _Entry("Show the world's time", "/sandbox/clock"),
    _Entry(
        "Advance the clock by a number of seconds, or change its speed",
        "/sandbox/clock",
        """-d '{"advance": 86400, "speed": 60}'""",
    ),
    _Entry(
        "Create tokens for the databases; regenerate invalidates the old ones",
        "/sandbox/tokens",
        """-d '{"action": "generate"}'""",
    ),
    _Entry("Every operation of the platform", "/openapi.json"),
)


def routes() -> list[Route]:
    """Return the routes of the index."""
    return [Route(path, _on_index) for path in PATHS]


async def _on_index(request: Request) -> Response:
    return PlainTextResponse(written(str(request.base_url).rstrip("/")))


def written(url: str) -> str:
    """Write the index of a sandbox at an address."""
    parts = ["A local platform. These commands control it.\n"]
    for entry in _ENTRIES:
        words = f"{entry.words} " if entry.words else ""
        parts.append(f"{entry.does}:\n  curl {words}{url}{entry.path}\n")
    return "\n".join(parts)
