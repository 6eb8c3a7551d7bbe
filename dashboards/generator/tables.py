"""Panels that several pages use: figures, tiles and tables."""

from dataclasses import replace
from typing import TypedDict, Unpack

from dashboards.generator import columns, links
from dashboards.generator.page import Colour, Column, Numbers, Panel, Query, Steps, Word, red_from, table
from dashboards.generator.queries import alerts, findings, subject, truth

# The time range of a tile: long enough to see when a problem began, short enough for points a minute apart.
LATELY = "2h"

_SEVERITIES = (
    Word("critical", "critical", Colour.BAD),
    Word("warning", "warning", Colour.WARN),
    Word("info", "info", Colour.INFO),
)


class Look(TypedDict, total=False):
    """How a figure is drawn: attributes of `Panel`."""

    unit: str
    decimals: int
    width: int
    height: int
    steps: Steps
    words: tuple[Word, ...]
    none: str


def figure(
    title: str,
    shows: str,
    act: str,
    *queries: Query,
    of: tuple[str, ...] | None = None,
    trend: bool = False,
    **look: Unpack[Look],
) -> Panel:
    """Make a panel of large figures.

    Args:
        title: as in `Panel`.
        shows: as in `Panel`.
        act: as in `Panel`.
        queries: a figure each.
        of: where it is given, the panel has one query, which answers with 0 or more, and it says when the figure is
            not known: when the exporter is silent, or when these collectors had no good poll.
        trend: whether a faint line of its past is drawn behind the figure.
        look: how it is drawn.
    """
    panel = Panel(title, shows, act, queries, Numbers(trend=trend), **look)
    if of is None:
        return panel
    (query,) = queries
    reasons = (truth.SILENT, truth.old(*of)) if of else (truth.SILENT,)
    return replace(
        panel,
        queries=(replace(query, expr=truth.known(query.expr, *reasons)),),
        words=(*panel.words, *truth.WORDS),
    )


def tile(title: str, shows: str, act: str, query: Query, *, trend: bool = True, **look: Unpack[Look]) -> Panel:
    """Make a tile that is green only while its figure is known.

    The query answers with a figure or, below 0, with the reason why there is none (`truth.known`); `none` is what
    the tile says where the configuration has nothing of its kind.
    """
    act += (
        " SILENT is an exporter that does not answer, OLD DATA an account without a good poll for two intervals: the"
        " figure is not known then."
    )
    drawn: Look = {"height": 3, "steps": red_from(1), "words": truth.WORDS, "none": "none polled", **look}
    panel = figure(title, shows, act, query, trend=trend, **drawn)
    return replace(panel, since=LATELY if trend else "")


FINDINGS = Panel(
    title="What stands out now",
    shows="What the newest values say is wrong, without any alert rule and without waiting; at most 20 rows of a kind.",
    act="Follow the row to the page of what it is about. `act now` is protection, an account or the exporter itself;"
    " `check` may have a good reason.",
    queries=(findings.FOUND,),
    view=table(
        Column("Urgency", words=findings.URGENCIES, width=100),
        Column("What", label="what", width=220),
        subject.ABOUT,
        Column("Figure", label="figure", width=190),
        Column("Account", label="account", width=140, link=columns.ACCOUNT.link),
        *subject.HIDDEN,
        sort="Urgency",
    ),
    width=24,
    height=6,
    none="Nothing stands out.",
)
ALERTS = Panel(
    title="Alerts",
    shows="Every alert of the shipped rules, pending and firing, the firing and critical ones first. Those that"
    " Alertmanager holds back, because another one says more, are said to follow.",
    act="Follow an alert's name to its runbook, and what it is about to its page. Pending ones fire if they last.",
    queries=(alerts.ALERTS, alerts.SINCE),
    view=table(
        Column("State", words=alerts.STATES, width=85),
        Column("Severity", label="severity", width=100, words=_SEVERITIES),
        Column("Alert", label="alertname", width=260, link=links.runbook("Alert")),
        subject.ABOUT,
        Column("Account", label="account", width=140, link=columns.ACCOUNT.link),
        Column("For", unit="s", width=80, decimals=0),
        *subject.HIDDEN,
        sort="State",
    ),
    width=24,
    height=9,
    none="No alert is pending or fires, or no rules are loaded: the tile of alerts says which.",
)
