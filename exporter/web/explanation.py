"""Answers which families are absent, and why, for `/explain` and `/api/v1/explain`."""

from collections.abc import Iterable, Mapping
from typing import Any

from exporter.metric import label_value
from exporter.web.status import View
from exporter.web.target_query import check, read_fields

# An absence names as many of its targets; `number` counts all.
MOST_TARGETS = 20

PARAMETERS: Mapping[str, str] = {
    "family": "only this family; may be repeated",
    "target": "only this target, as dns_zone/102 or by its name; may be repeated",
}


def explain(view: View, fields: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Answer the question in a URL's fields with plain values; raises QueryError if it is wrong.

    `others` is what there is to say of each named target without absences. A spare says of all that it is one.
    """
    given, explainer = read_fields(fields, PARAMETERS, ()), view.explainer
    known = [info.name for collector in explainer.collectors() for info in collector.families]
    families, targets = check("family", given.get("family", []), known, is_listed=False), given.get("target", [])
    spare = view.spare()
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
