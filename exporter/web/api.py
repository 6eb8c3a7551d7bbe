"""`/api/v1/`: the content of the status page as JSON, whose fields `status.py` describes."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from exporter.web import explanation
from exporter.web.explanation import explain
from exporter.web.status import View
from exporter.web.target_query import MOST_ROWS, SORTS, State, parse_query

DEFAULT_ROWS = 1000

# The names and values of a URL's query, in their order.
Fields = Iterable[tuple[str, str]]


class Endpoint(NamedTuple):
    """A path below `/api/v1/`: what it is for, its parameters, and the function that answers."""

    path: str
    description: str
    parameters: Mapping[str, str]
    answer: Callable[[View, Fields], str]


def encode(value: object) -> str:
    """Encode a value as JSON in ASCII, so that it can be read whatever texts it contains."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _status(view: View, _fields: Fields) -> str:
    return encode(view.status()) + "\n"


def _targets(view: View, given: Fields) -> str:
    found, _ = view.targets(parse_query(given, view.known(), default_limit=DEFAULT_ROWS))
    return encode(found) + "\n"


def _explain(view: View, given: Fields) -> str:
    return encode(explain(view, given)) + "\n"


def _index(_view: View, _fields: Fields) -> str:
    listed = [{"path": it.path, "description": it.description, "parameters": it.parameters} for it in ENDPOINTS[1:]]
    return json.dumps({"endpoints": listed}, indent=2) + "\n"


ENDPOINTS = (
    Endpoint("", "the endpoints and their parameters", {}, _index),
    Endpoint(
        "status", "the exporter as a whole: readiness, configuration, accounts, collectors, failures", {}, _status
    ),
    Endpoint(
        "targets",
        "the targets, once for each collector that polls them: state, age, error, chart of days",
        {
            "search": "words that must all be in a target's name, key, account or reason",
            "collector": "only targets of this collector; may be repeated",
            "account": "only targets of this account or database; may be repeated",
            "state": f"only targets in this state ({', '.join(State)}); may be repeated",
            "sort": f"one of {', '.join(SORTS)}",
            "order": "asc or desc",
            "limit": f"the number of targets in the answer, from 1 to {MOST_ROWS}, by default {DEFAULT_ROWS}",
            "offset": "the number of found targets to skip before them",
        },
        _targets,
    ),
    Endpoint(
        "explain",
        "why families of targets have no series: one cause each",
        explanation.PARAMETERS,
        _explain,
    ),
)
