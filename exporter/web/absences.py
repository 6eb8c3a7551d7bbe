"""Which families have no series, and why, as JSON."""

from collections.abc import Collection

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from exporter.validation.configuration_errors import suggestion
from exporter.web.parts import Parts
from exporter.web.url_fields import Json, read_fields

# The most targets that are listed for an absence; `number` counts all targets of the absence.
MOST_TARGETS = 20
_ALL_TARGETS = "*"


async def explain(parts: Parts, query: QueryParams) -> Json:
    """Return the absences that a URL's query asks for; raises HTTPException (400) if a field or a family is unknown."""
    given = read_fields(query, {"family": None, "target": None})
    known = {info.name for collector in parts.explainer.collectors() for info in collector.families}
    for name in given["family"]:
        if name not in known:
            raise HTTPException(400, f"no collector has a family named {name[:200]!r}{suggestion(name[:200], known)}")
    return await absences(parts, given["family"], given["target"])


async def absences(parts: Parts, families: Collection[str], targets: Collection[str]) -> Json:
    """Return the absences of these families for these targets (labels or names); empty collections select all.

    In the result, `others` maps a given target that has no absence to the reason for this. In a spare, `absences` is
    empty, and `others` maps the given targets, or `*` if none is given, to the reason why the spare has no shard.
    """
    now, explainer = parts.clocks.wall(), parts.explainer
    if why_spare := parts.process().spare:
        return {"now": now, "absences": [], "others": dict.fromkeys(targets or [_ALL_TARGETS], why_spare)}
    found = await explainer.absences(families, targets)
    lacking = [target for absence in found for target in absence.targets]
    explained = {target.key.label for target in lacking} | {target.name for target in lacking}
    others = explainer.why_unexplained(given for given in targets if given not in explained)
    rows = [
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
    return {"now": now, "absences": rows, "others": others}
