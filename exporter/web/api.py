"""`/api/v1/`: the content of the status page as JSON.

Fields are added and never removed. Times are unix seconds, durations are seconds, and an unknown value is null.
"""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import asdict

from exporter.responsive.slices import unhurried
from exporter.web import explanation
from exporter.web.explanation import AbsenceQuery
from exporter.web.status import View
from exporter.web.status_models import State, target_as_json
from exporter.web.target_query import MOST_ROWS, SORTS, TargetQuery

DEFAULT_ROWS = 1000

_PARAMETERS: Mapping[str, str] = {
    "search": "words that must all be in a target's name, key, account or reason",
    "collector": "only targets of this collector; may be repeated",
    "account": "only targets of this account or database; may be repeated",
    "state": f"only targets in this state ({', '.join(State)}); may be repeated",
    "sort": f"one of {', '.join(SORTS)}",
    "order": "asc or desc",
    "limit": f"the number of targets in the answer, from 1 to {MOST_ROWS}, by default {DEFAULT_ROWS}",
    "offset": "the number of found targets to skip before them",
}

INDEX: Mapping[str, object] = {
    "endpoints": [
        {
            "path": "status",
            "description": "the exporter as a whole: readiness, configuration, accounts, collectors, failures",
            "parameters": {},
        },
        {
            "path": "targets",
            "description": "the targets, once for each collector that polls them: state, age, error, chart of days",
            "parameters": _PARAMETERS,
        },
        {
            "path": "explain",
            "description": "why families of targets have no series: one cause each, with its evidence",
            "parameters": explanation.PARAMETERS,
        },
    ]
}


def encode(value: object) -> str:
    """Encode a value as JSON in ASCII, so that it can be read whatever texts it contains."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


async def status(view: View) -> AsyncIterator[str]:
    """Answer `/api/v1/status`."""
    yield encode(asdict(await view.status())) + "\n"


async def targets(view: View, query: TargetQuery) -> AsyncIterator[str]:
    """Answer `/api/v1/targets`, piece by piece."""
    found = await view.targets(query)
    head = {"total": found.total, "matched": found.matched, "offset": found.offset, "limit": found.limit}
    async for piece in _with_rows(view, head, "targets", map(target_as_json, found.targets)):
        yield piece


async def explain(view: View, question: AbsenceQuery) -> AsyncIterator[str]:
    """Answer `/api/v1/explain`, piece by piece."""
    found = await explanation.explain(view, question)
    rows = map(explanation.absence_as_json, found.absences)
    async for piece in _with_rows(view, explanation.as_json(found, question), "absences", rows):
        yield piece


async def _with_rows(
    view: View, head: Mapping[str, object], name: str, rows: Iterable[Mapping[str, object]]
) -> AsyncIterator[str]:
    """Encode an object with a list as its last field, a row at a time."""
    yield f'{encode(head)[:-1]},"{name}":['
    separator = ""
    async for row in unhurried(rows, view.clocks.monotonic):
        yield separator + encode(row)
        separator = ","
    yield "]}\n"


async def index() -> AsyncIterator[str]:
    """Answer `/api/v1/` with the endpoints and their parameters."""
    yield json.dumps(INDEX, indent=2) + "\n"
