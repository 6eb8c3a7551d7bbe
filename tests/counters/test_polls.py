"""Polls and what is counted of them, through the whole exporter: the tables in `polls/`.

A rule is a line of words, then a line for each poll: the moment in 2026, the answer, and the counter that is served.
An answer is a month to date, or the days of a chart; `1/2/3` are a day's logged, challenged and blocked breaches.
In the tables of labels, `eu 02-06 5, 02-07 1; us 02-06 3` and `eu 80; us 3` are the answers.
`02-06 12:00 dated 2028-03-01` is an answer with another date.
`restart` starts an exporter on the state of the last one, `restart {…}` with these keys of the metric changed;
`corrections` are those since the last start.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import pytest

from tests.endpoints.test_engine import BUSY, OFF
from tests.endpoints.undocumented_platform import platform
from tests.exporter_parts import ExporterParts, exporter_parts, still
from tests.golden import assert_golden

POLLS = Path(__file__).parent / "polls"
ACTIONS = ("loggedBreaches", "challengedBreaches", "blockedBreaches")
# The table, its counter, the settings of the account, the polling collector or endpoint, and the body of an answer.
Source = tuple[str, str, Mapping[str, object], str | Mapping[str, object], Callable[[str], object]]


def day(written: str) -> tuple[str, object]:
    """Return a day and its count, or its breaches by action, as the platform writes them."""
    date, _, count = written.partition(" ")
    counts = [json.loads(one) for one in count.split("/")]
    return f"2026-{date}T00:00:00Z", counts[0] if len(counts) == 1 else dict(zip(ACTIONS, counts, strict=True))


def days(written: str) -> object:
    """Return a chart; `null`, `{}` and other JSON are themselves."""
    return dict(day(one) for one in written.split(", ")) if written[0].isdigit() else json.loads(written)


def by_label(written: str, value: Callable[[str], object]) -> object:
    """Return what each label value has; `null`, `{}` and other JSON are themselves."""
    if not written[0].isalpha() or written == "null":
        return json.loads(written)
    return {label: value(one) for label, one in (part.split(" ", 1) for part in written.split("; "))}


def endpoint(**source: str) -> Mapping[str, object]:
    metric = {"name": "edge_thing_total", "help": "A.", **source}
    return {"name": "thing", "path": "/thing", "metrics": [metric]}


SOURCES: Mapping[str, Source] = {
    "a zone's days": (
        "days",
        "edge_dns_queries_total",
        {"dns_zones": {"discover": False, "ids": [102]}},
        "dns_statistics",
        lambda written: {"QueriesServedChart": days(written)},
    ),
    "an endpoint's days": (
        "days",
        "edge_thing_total",
        {},
        endpoint(days="Chart"),
        lambda written: {"Chart": days(written)},
    ),
    "a script's month": (
        "months",
        "edge_script_cost_dollars_total",
        {"scripts": {"discover": False, "ids": [7]}},
        "scripts",
        lambda written: {"Id": 7, "Name": "router", "MonthlyCost": json.loads(written)},
    ),
    "an endpoint's month": (
        "months",
        "edge_thing_total",
        {},
        endpoint(month="Month"),
        lambda written: {"Month": json.loads(written)},
    ),
    "an endpoint's days by label": (
        "labelled_days",
        "edge_thing_total",
        {},
        endpoint(days="Charts", label="region"),
        lambda written: {"Charts": by_label(written, days)},
    ),
    "an endpoint's months by label": (
        "labelled_months",
        "edge_thing_total",
        {},
        endpoint(month="Months", label="region"),
        lambda written: {"Months": by_label(written, json.loads)},
    ),
    "a rate limit's breaches": (
        "breaches",
        "edge_shield_rate_limit_breaches_total",
        {"rate_limits": [{"id": 55, "name": "login", "shield_zone_id": 3}]},
        "shield_rate_limits",
        lambda written: {"data": {"ratelimitOverviewPastTwentyEightDays": days(written)}, "error": None},
    ),
}


async def play(lines: Iterable[str], source: Source, state: Path) -> list[str]:
    """Poll as a rule says; return its lines with what was served."""
    _, family, account, polled, body = source
    name = polled if isinstance(polled, str) else "thing"
    changed: dict[str, object] = {}
    collectors = {**OFF, name: {"interval": "1s", "stale_after": "90d"}}
    answer = (200, b"{}")
    parts: ExporterParts | None = None
    shown = []
    async with platform(lambda *_: answer) as place, AsyncExitStack() as life:
        for line in lines:
            moment, *asked = line.strip().split(" | ")
            if moment.startswith("restart"):
                await life.aclose()
                parts, changed = None, json.loads(moment.removeprefix("restart") or "{}")
            if moment.endswith("corrections") and parts is not None:
                moment = f"{parts.value('edge_exporter_ledger_corrections_total', family=family) or 0:g} corrections"
            if asked:
                at, *dated = (datetime.fromisoformat(f"{one}+00:00") for one in f"2026-{moment}".split(" dated "))
                place.date = format_datetime([at, *dated][-1].astimezone(UTC), usegmt=True)
                is_status = asked[0].startswith("status ")
                answer = (int(asked[0][7:]), b"{}") if is_status else (200, json.dumps(body(asked[0])).encode())
                if parts is None:
                    made = exporter_parts(
                        world=still(at.timestamp()),
                        url=place.url,
                        account={**BUSY, **account},
                        collectors=collectors,
                        more={"state": {"path": str(state), "retention": "3d"}, **declared(polled, changed)},
                    )
                    parts = await life.enter_async_context(made)
                else:
                    await parts.turn(at.timestamp() - parts.world.clock.now())
                asked = [asked[0], served(parts, family)]
            shown.append("  " + " | ".join([moment, *asked]))
    return shown


def declared(polled: str | Mapping[str, object], changed: Mapping[str, object]) -> Mapping[str, object]:
    """Return the section of an endpoint with changed keys of its metric; nothing for a built-in collector."""
    if isinstance(polled, str):
        return {}
    metrics = polled["metrics"]
    assert isinstance(metrics, list)
    return {"endpoints": [{**polled, "metrics": [{**metrics[0], **changed}]}]}


def served(parts: ExporterParts, family: str) -> str:
    """Return the served value of a counter, or of each action's."""
    series = parts.samples(family)
    shown = (f"{labels[1]} {value:g}" if len(series) > 1 else f"{value:g}" for labels, value in series.items())
    return ", ".join(sorted(shown)) or "nothing"


@pytest.mark.parametrize("source", SOURCES)
async def test_polls_give_the_counts_of_the_table(source: str, tmp_path: Path) -> None:
    path = POLLS / f"{SOURCES[source][0]}.txt"
    rules = path.read_text(encoding="utf-8").strip().split("\n\n")
    shown = []
    for number, rule in enumerate(rules):
        words, *lines = rule.splitlines()
        shown.append("\n".join([words, *await play(lines, SOURCES[source], tmp_path / f"{number}.db")]))
    assert_golden("\n\n".join(shown) + "\n", path)
