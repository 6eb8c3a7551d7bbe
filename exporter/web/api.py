"""`/api/v1/`: the content of the pages as JSON; `status.py` describes its fields."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from exporter.metric import label_value
from exporter.validation.configuration_errors import suggestion
from exporter.web.status import Json, View
from exporter.web.target_query import MOST_ROWS, SORTS, QueryError, State, TargetQuery, parse_query, read_fields

# An absence names as many of its targets; `number` counts all.
MOST_TARGETS = 20

# The names and values of a URL's query, in their order.
Fields = Iterable[tuple[str, str]]


class Endpoint(NamedTuple):
    """A path below `/api/v1/`: what it is for, its parameters, and the function that answers."""

    path: str
    description: str
    parameters: Mapping[str, str]
    answer: Callable[[View, Fields], Json]


def encode(value: object) -> str:
    """Encode a value as JSON in ASCII, so that it can be read whatever texts it contains."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _targets(view: View, given: Fields) -> Json:
    found, _ = view.targets(parse_query(given, view.known(), TargetQuery()))
    return found


def _index(_view: View, _given: Fields) -> Json:
    listed = [{"path": it.path, "description": it.description, "parameters": it.parameters} for it in ENDPOINTS[1:]]
    return {"endpoints": listed}


def explain(view: View, given: Fields) -> Json:
    """Answer the question in a URL's fields with plain values; raises QueryError if it is wrong.

    `others` is what there is to say of each named target without absences. A spare says of all that it is one.
    """
    values, explainer = read_fields(given, ("family", "target"), ()), view.explainer
    known = {info.name for collector in explainer.collectors() for info in collector.families}
    families, targets = values.get("family", []), values.get("target", [])
    for name in families:
        if name not in known:
            raise QueryError(f"no family is named {name[:200]!r}{suggestion(name[:200], known)}")
    spare = view.process().spare
    found = [] if spare else explainer.absences(families, targets)
    explained = {text for absence in found for one in absence.targets for text in (one.key.label, one.name)}
    absences = [
        {
            "account": label_value(absence.account),
            "collector": absence.collector,
            "families": absence.families,
            "number": len(absence.targets),
            "targets": [
                {"target": label_value(one.key.label), "name": label_value(one.name)}
                for one in absence.targets[:MOST_TARGETS]
            ],
            "cause": absence.finding.cause,
            "since": absence.finding.since or None,
            "text": label_value(absence.finding.text),
        }
        for absence in found
    ]
    others = {label_value(one): explainer.answer(one) for one in targets if one not in explained}
    if spare:
        others = dict.fromkeys(map(label_value, targets or ["*"]), spare)
    return {"now": view.clocks.wall(), "absences": absences, "others": others}


ENDPOINTS = (
    Endpoint("", "the endpoints and their parameters", {}, _index),
    Endpoint(
        "status",
        "the exporter as a whole: readiness, configuration, accounts, collectors, failures, moves",
        {},
        lambda view, _given: view.status(),
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
            "limit": f"the number of targets in the answer, from 1 to {MOST_ROWS}, by default {MOST_ROWS}",
            "offset": "the number of found targets to skip before them",
        },
        _targets,
    ),
    Endpoint(
        "explain",
        "why families of targets have no series: one cause each",
        {
            "family": "only this family; may be repeated",
            "target": "only this target, as dns_zone/102 or by its name; may be repeated",
        },
        explain,
    ),
)
