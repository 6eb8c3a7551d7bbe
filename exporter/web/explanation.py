"""`/api/v1/explain`: which families are absent, and why, a page at a time."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from exporter.collectors.causes import Cause
from exporter.explain.explainer import Absence, AbsenceFilter
from exporter.metric import label_value
from exporter.responsive.slices import unhurried
from exporter.web.status import View
from exporter.web.target_query import FilterValues, check, read_fields, read_number

MOST_ROWS = 10_000
DEFAULT_ROWS = 1000

PARAMETERS: Mapping[str, str] = {
    "family": "only this family; may be repeated",
    "target": "only this target, as dns_zone/102 or by its name; may be repeated",
    "collector": "only families of this collector; may be repeated",
    "account": "only targets of this account or database; may be repeated",
    "cause": f"only absences for this cause ({', '.join(Cause)}); may be repeated",
    "limit": f"the number of absences in the answer, from 0 to {MOST_ROWS}, by default {DEFAULT_ROWS}",
    "offset": "the number of found absences to skip before them",
}


@dataclass(frozen=True, slots=True)
class AbsenceQuery:
    """A question about absent families, and the page of its answer."""

    wanted: AbsenceFilter
    offset: int = 0
    limit: int = DEFAULT_ROWS


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to a question.

    Attributes:
        now: unix seconds.
        series: the number of exposed series of targets, whatever the question.
        families: the number of absent families that match the question, counted for each target.
        summary: the same by collector and cause, the greatest first, as plain values.
        matched: the number of absences; an absence is the families of one target that one cause explains.
        absences: a page of them.
        unknown: targets of the question that do not exist.
    """

    now: float
    series: int
    families: int
    summary: list[dict[str, Any]]
    matched: int
    absences: tuple[Absence, ...]
    unknown: tuple[str, ...]


def parse_question(fields: Iterable[tuple[str, str]], known: FilterValues, families: Collection[str]) -> AbsenceQuery:
    """Read a question from a URL's fields.

    Args:
        fields: names and values, in their order.
        known: the collectors and accounts that a question may name.
        families: the families that a question may name.

    Raises:
        QueryError: a field is unknown or has an invalid value.
    """
    given = read_fields(fields, PARAMETERS, ("limit", "offset"))
    wanted = AbsenceFilter(
        families=frozenset(check("family", given.get("family", []), families, is_listed=False)),
        targets=frozenset(given.get("target", [])),
        accounts=frozenset(check("account", given.get("account", []), known.accounts)),
        collectors=frozenset(check("collector", given.get("collector", []), known.collectors)),
        causes=frozenset(Cause(cause) for cause in check("cause", given.get("cause", []), list(Cause))),
    )
    return AbsenceQuery(
        wanted,
        offset=read_number("offset", given, 0, least=0, most=10**9),
        limit=read_number("limit", given, DEFAULT_ROWS, least=0, most=MOST_ROWS),
    )


async def explain(view: View, question: AbsenceQuery) -> Explanation:
    """Answer a question; the event loop runs between small pieces of the work."""
    counts: dict[tuple[str, Cause], list[int]] = {}
    page: list[Absence] = []
    matched = 0
    explained: set[str] = set()
    async for absence in unhurried(view.explainer.absences(question.wanted), view.clocks.monotonic):
        if absence is None:
            continue
        count = counts.setdefault((absence.collector, absence.cause), [0, 0])
        count[0] += len(absence.families)
        count[1] += 1
        if question.offset <= matched < question.offset + question.limit:
            page.append(absence)
        if question.wanted.targets:
            explained |= {absence.target, absence.name}
        matched += 1
    by_size = sorted(counts.items(), key=lambda item: (-item[1][0], item[0]))
    left = question.wanted.targets - explained
    return Explanation(
        now=view.clocks.wall(),
        series=view.series(),
        families=sum(number for number, _ in counts.values()),
        summary=[
            {"collector": collector, "cause": cause, "text": cause.text, "families": families, "targets": targets}
            for (collector, cause), (families, targets) in by_size
        ],
        matched=matched,
        absences=tuple(page),
        unknown=tuple(sorted(left - view.labels_and_names(left))) if left else (),
    )


def as_json(explanation: Explanation, question: AbsenceQuery) -> dict[str, object]:
    """Convert the answer to plain values, without its absences."""
    return {
        "now": explanation.now,
        "series": explanation.series,
        "absent_families": explanation.families,
        "summary": explanation.summary,
        "unknown_targets": list(explanation.unknown),
        "matched": explanation.matched,
        "offset": question.offset,
        "limit": question.limit,
    }


def absence_as_json(absence: Absence) -> dict[str, object]:
    """Convert an absence to plain values, with its cause in words."""
    return {
        "account": label_value(absence.account),
        "collector": absence.collector,
        "target": label_value(absence.target),
        "name": label_value(absence.name),
        "families": absence.families,
        "cause": absence.cause,
        "text": absence.cause.text,
        "evidence": label_value(absence.evidence),
        "advice": absence.cause.advice,
    }
