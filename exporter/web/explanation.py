"""Finds which families are absent, and why, a page at a time, for `/explain` and `/api/v1/explain`."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from exporter.collectors.causes import Cause
from exporter.explain.explainer import Absence, AbsenceFilter
from exporter.metric import label_value
from exporter.web.status import View
from exporter.web.target_query import check, read_fields, read_number

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
class AbsenceQuery(AbsenceFilter):
    """A question about absent families, and the page of its answer."""

    offset: int = 0
    limit: int = DEFAULT_ROWS


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to a question.

    Attributes:
        now: unix seconds.
        series: the number of exposed series of targets, whatever the question.
        absent_families: the number of absent families that match the question, counted for each target.
        summary: the same by collector and cause, the greatest first, as plain values.
        unknown_targets: targets of the question that do not exist.
        matched: the number of absences; an absence is the families of one target that one cause explains.
        offset: the number of absences before the page.
        limit: the most absences of a page.
        absences: a page of them.
    """

    now: float
    series: int
    absent_families: int
    summary: list[dict[str, Any]]
    unknown_targets: tuple[str, ...]
    matched: int
    offset: int
    limit: int
    absences: tuple[Absence, ...]


def parse_question(view: View, fields: Iterable[tuple[str, str]]) -> AbsenceQuery:
    """Read a question from the names and values of a URL's fields; raises QueryError if one is unknown or invalid."""
    given = read_fields(fields, PARAMETERS, ("limit", "offset"))
    known = view.explainer
    return AbsenceQuery(
        families=frozenset(check("family", given.get("family", []), known.families(), is_listed=False)),
        targets=frozenset(given.get("target", [])),
        accounts=frozenset(check("account", given.get("account", []), view.known().accounts)),
        collectors=frozenset(check("collector", given.get("collector", []), known.collectors())),
        causes=frozenset(Cause(cause) for cause in check("cause", given.get("cause", []), list(Cause))),
        offset=read_number("offset", given, 0, least=0, most=10**9),
        limit=read_number("limit", given, DEFAULT_ROWS, least=0, most=MOST_ROWS),
    )


def explain(view: View, question: AbsenceQuery) -> Explanation:
    """Answer a question."""
    families: Counter[tuple[str, Cause]] = Counter()
    targets: Counter[tuple[str, Cause]] = Counter()
    page: list[Absence] = []
    matched = 0
    left = set(question.targets)
    for absence in view.explainer.absences(question):
        families[absence.collector, absence.cause] += len(absence.families)
        targets[absence.collector, absence.cause] += 1
        if question.offset <= matched < question.offset + question.limit:
            page.append(absence)
        left -= {absence.target, absence.name}
        matched += 1
    # Targets all of whose families have series.
    for key, status in view.store.statuses() if left else ():
        left -= {key.target.label, status.target.name}
    return Explanation(
        now=view.clocks.wall(),
        series=view.series(),
        absent_families=families.total(),
        summary=[
            {"collector": pair[0], "cause": pair[1], "text": pair[1].text, "families": number, "targets": targets[pair]}
            for pair, number in sorted(families.items(), key=lambda item: (-item[1], item[0]))
        ],
        unknown_targets=tuple(sorted(left)),
        matched=matched,
        offset=question.offset,
        limit=question.limit,
        absences=tuple(page),
    )


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
