"""`/api/v1/`: the content of the pages as JSON."""

import json
from collections.abc import Callable, Mapping

from exporter.label_values import label_value
from exporter.validation.configuration_errors import suggestion
from exporter.web.parts import Parts
from exporter.web.status import status_of
from exporter.web.targets import find_targets
from exporter.web.url_fields import Fields, Json, QueryError, read_fields

# An absence names as many of its targets; `number` counts all.
MOST_TARGETS = 20


def encode(value: object) -> str:
    """Encode a value as JSON in ASCII; texts are as in labels of metrics, so that all programs can read them."""
    return json.dumps(_readable(value), separators=(",", ":"), allow_nan=False)


def _readable(value: object) -> object:
    match value:
        case str():
            return label_value(value)
        case Mapping():
            return {name: _readable(own) for name, own in value.items()}
        case list() | tuple():
            return list(map(_readable, value))
        case _:
            return value


def explain(parts: Parts, given: Fields) -> Json:
    """Answer the question in a URL's fields; raises QueryError if it is wrong.

    `others` is what there is to say of each named target without absences. A spare says of all that it is one.
    """
    values, explainer = read_fields(given, ("family", "target")), parts.explainer
    known = {info.name for collector in explainer.collectors() for info in collector.families}
    families, targets = values.get("family", []), values.get("target", [])
    for name in families:
        if name not in known:
            raise QueryError(f"no family is named {name[:200]!r}{suggestion(name[:200], known)}")
    now = parts.clocks.wall()
    if spare := parts.process().spare:
        return {"now": now, "absences": [], "others": dict.fromkeys(targets or ["*"], spare)}
    found = explainer.absences(families, targets)
    explained = {text for absence in found for one in absence.targets for text in (one.key.label, one.name)}
    absences = [
        {
            "account": absence.account,
            "collector": absence.collector,
            "families": absence.families,
            "number": len(absence.targets),
            "targets": [{"target": one.key.label, "name": one.name} for one in absence.targets[:MOST_TARGETS]],
            "cause": absence.finding.cause,
            "since": absence.finding.since or None,
            "text": absence.finding.text,
        }
        for absence in found
    ]
    others = {named: explainer.answer(named) for named in targets if named not in explained}
    return {"now": now, "absences": absences, "others": others}


# Paths below `/api/v1/`.
API: Mapping[str, Callable[[Parts, Fields], Json]] = {
    "status": lambda parts, _given: status_of(parts),
    "targets": find_targets,
    "explain": explain,
}
