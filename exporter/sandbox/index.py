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
    _Entry("See ids, names, keys, and every event that can be made to happen", "/sandbox/world"),
    _Entry("Make something happen", "/sandbox/world", """-d '{"event": "scan_failed", "zone_id": 101}'"""),
    _Entry(
        "Script a fault of some kind for the requests of a path, path_regex or method",
        "/sandbox/faults",
        """-d '{"kind": "status", "status": 503, "path_regex": "/dnszone/.*", "times": 20}'""",
    ),
    _Entry("The faults that are scripted, and how often each has struck", "/sandbox/faults"),
    _Entry("Remove one of them", "/sandbox/faults/1", "-X DELETE"),
    _Entry("Remove all of them", "/sandbox/faults", "-X DELETE"),
    _Entry("What time it is there", "/sandbox/clock"),
    _Entry(
        "Turn the clock by so many seconds, or let it run faster",
        "/sandbox/clock",
        """-d '{"advance": 86400, "speed": 60}'""",
    ),
    _Entry(
        "New tokens for the databases; regenerate ends the old ones",
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
    parts = ["A local platform; what it answers and does is turned here.\n"]
    for entry in _ENTRIES:
        words = f"{entry.words} " if entry.words else ""
        parts.append(f"{entry.does}:\n  curl {words}{url}{entry.path}\n")
    return "\n".join(parts)
