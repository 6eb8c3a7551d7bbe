"""The page behind a target: which of its families have no series, and why; without a target, of all targets."""

from collections.abc import AsyncIterator, Mapping

from exporter.cooperative import unhurried
from exporter.explain.explainer import Absence
from exporter.web.explanation import Explanation, Question
from exporter.web.page.assets import Asset
from exporter.web.page.links import to_explanation
from exporter.web.page.markup import Column, foreign, framed, table, text
from exporter.web.page.page import document
from exporter.web.page.wording import count, plural

_CAUSES = (Column("Collector"), Column("Cause"), Column("Families", "number"), Column("Meaning"))
_HEADS = ("Target", "Name", "Collector", "Families", "Cause", "Evidence", "What to do")


async def render_explanation(
    found: Explanation, question: Question, *, assets: Mapping[str, Asset]
) -> AsyncIterator[str]:
    """The page as HTML, piece by piece.

    Args:
        found: what is absent.
        question: what was asked for.
        assets: the style sheet, the script and the icon.
    """
    asked = ", ".join(sorted(question.wanted.targets | question.wanted.families))
    yield document("Absent families · edge-exporter", found.now, assets, is_live=False)
    yield '<section aria-labelledby="absent-title"><h2 id="absent-title">Absent families'
    yield f"{f' of {foreign(asked)}' if asked else ''}</h2>"
    yield f'<p id="found">{_words(found)}</p>'
    for unknown in found.unknown:
        yield f"<p>Nothing is known of {foreign(unknown)}.</p>"
    if found.counts:
        yield _summary(found)
    if found.absences:
        heads = "".join(f'<th scope="col">{head}</th>' for head in _HEADS)
        frame, end = framed("Absences", "\n").split("\n")
        yield f"{frame}<caption>Absences, one cause each</caption><thead><tr>{heads}</tr></thead><tbody>"
        async for absence in unhurried(found.absences):
            yield _row(absence)
        yield f"</tbody>{end}"
    yield '<p><a href="./">All targets</a></p></section></main></body></html>\n'


def _words(found: Explanation) -> str:
    if not found.matched:
        return "Every family that could be there has series."
    families = "family has" if found.families == 1 else "families have"
    shown = len(found.absences)
    rest = f" The first {count(shown)} of {count(found.matched)} absences are listed." if shown < found.matched else ""
    return f"{count(found.families)} {families} no series, {plural(found.matched, 'absence')}.{rest}"


def _summary(found: Explanation) -> str:
    rows = (
        (text(row.collector), text(row.cause), count(row.families), text(row.cause.text.capitalize() + "."))
        for row in found.counts
    )
    return table("Causes", _CAUSES, rows)


def _row(absence: Absence) -> str:
    target = f'<a href="{to_explanation(absence.account, absence.target)}">{foreign(absence.target)}</a>'
    cells = (
        foreign(absence.name),
        text(absence.collector),
        "<br>".join(text(name) for name in absence.families),
        text(absence.cause.text),
        foreign(absence.evidence),
        text(absence.cause.advice),
    )
    return f'<tr><th scope="row" class="key">{target}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
