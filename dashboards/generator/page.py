"""Defines dashboards as data: pages of rows of panels, each with its queries and texts."""

from dataclasses import dataclass, field
from enum import StrEnum

from dashboards.generator import intervals


class Colour(StrEnum):
    """Colours by their meaning; the values are Grafana's names."""

    GOOD = "green"
    WARN = "orange"
    BAD = "red"
    INFO = "blue"
    HINT = "purple"
    QUIET = "text"


@dataclass(frozen=True, slots=True)
class Steps:
    """The colour of a value: that of the last step at or below it, or `base` below all steps."""

    base: Colour
    steps: tuple[tuple[float, Colour], ...] = ()

    @property
    def colours(self) -> frozenset[Colour]:
        """All colours that a value can have."""
        return frozenset({self.base, *(colour for _, colour in self.steps)})


NEUTRAL = Steps(Colour.INFO)
PLAIN = Steps(Colour.QUIET)


def red_from(value: float) -> Steps:
    """Green below a value, red from it on."""
    return Steps(Colour.GOOD, ((value, Colour.BAD),))


def red_below(value: float) -> Steps:
    """Red below a value, green from it on."""
    return Steps(Colour.BAD, ((value, Colour.GOOD),))


def warn_from(value: float) -> Steps:
    """Green below a value, orange from it on: worth a look, but nothing is broken."""
    return Steps(Colour.GOOD, ((value, Colour.WARN),))


def warn_then_red(warn: float, bad: float) -> Steps:
    """Green, then orange, then red, as the value grows."""
    return Steps(Colour.GOOD, ((warn, Colour.WARN), (bad, Colour.BAD)))


def red_then_warn(bad_below: float, warn_below: float) -> Steps:
    """Red, then orange, then green, as the value grows: for remaining time."""
    return Steps(Colour.BAD, ((bad_below, Colour.WARN), (warn_below, Colour.GOOD)))


@dataclass(frozen=True, slots=True)
class Word:
    """A value that is shown as a word."""

    value: str
    text: str
    colour: Colour


UP_OR_DOWN = (Word("1", "up", Colour.GOOD), Word("0", "DOWN", Colour.BAD))
ON_OR_OFF = (Word("1", "on", Colour.GOOD), Word("0", "OFF", Colour.BAD))
YES_OR_NO = (Word("1", "yes", Colour.QUIET), Word("0", "no", Colour.QUIET))


@dataclass(frozen=True, slots=True)
class Query:
    """One PromQL query of a panel.

    Attributes:
        expr: the expression, with Grafana's variables.
        legend: the name of a series, made from its labels.
        step: the smallest distance between two points; by default the longest interval of the collectors that poll
            the metrics of the expression.
        quiet: for a query that finds nothing if all is well: the event after which it finds something.
    """

    expr: str
    legend: str = ""
    step: str = ""
    quiet: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", self.step or intervals.step_of(self.expr))


@dataclass(frozen=True, slots=True)
class Lines:
    """A graph of values over time.

    Attributes:
        stack: whether the series add up to a total.
        bars: whether each point is the value of a period.
        dashed: regular expressions for the legends of lines that are only for comparison.
        band: the legends of a lower and an upper line; the space between them is filled.
        painted: legends with a fixed colour.
        least: the start of the axis; None for the smallest value.
        axis: what the values of a unit are counted by, such as `per hour`.
    """

    stack: bool = False
    bars: bool = False
    dashed: tuple[str, ...] = ()
    band: tuple[str, str] | None = None
    painted: tuple[tuple[str, Colour], ...] = ()
    least: float | None = 0
    axis: str = ""


ACTION_PAINT = (
    ("logged", Colour.INFO),
    ("challenged", Colour.WARN),
    ("blocked", Colour.BAD),
    ("unclassified", Colour.HINT),
)
MODE_WORDS = (Word("block", "block", Colour.GOOD), Word("log", "log", Colour.WARN), Word("off", "off", Colour.BAD))


@dataclass(frozen=True, slots=True)
class Numbers:
    """The newest values in large figures; with `trend`, over a faint line of their past."""

    trend: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    """The newest values of several series as bars.

    Attributes:
        painted: legends with a fixed colour.
    """

    painted: tuple[tuple[str, Colour], ...] = ()


@dataclass(frozen=True, slots=True)
class Timeline:
    """States over time, with a row for each series."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: the heading.
        label: the label that it shows; empty for the value of a query.
        link: the path of a page about the subject of the row.
        hidden: whether it only provides values for links.
        bar: whether a bar shows the share of the largest value.
    """

    title: str
    label: str = ""
    unit: str = "short"
    decimals: int | None = None
    steps: Steps | None = None
    words: tuple[Word, ...] = ()
    width: int | None = None
    link: str = ""
    hidden: bool = False
    bar: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """The newest values as rows; values of several queries with the same labels are in one row.

    The columns without a label show the values of the panel's queries, in order. Additional queries only add labels.
    """

    columns: tuple[Column, ...]
    sort: str
    ascending: bool = False


def table(*columns: Column, sort: str, ascending: bool = False) -> Table:
    """Make a table of these columns, sorted by the one with this title."""
    return Table(columns, sort, ascending)


View = Lines | Numbers | Bars | Timeline | Table


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel: its queries, how it is drawn, and what a reader does about it.

    Attributes:
        shows: one or two sentences about what it shows.
        act: what to do when it is red or, if it cannot turn red, when it looks wrong.
        width: the number of the page's 24 columns; by default 4 for numbers and 8 for others.
        height: the number of grid rows; by default as the width's default.
        steps: the colours of values; by default numbers are neutral.
        since: the panel's own time range, which overrides that of the page.
        none: the text of an empty panel.
    """

    title: str
    shows: str
    act: str
    queries: tuple[Query, ...]
    view: View = field(default_factory=Lines)
    unit: str = "short"
    width: int = 0
    height: int = 0
    decimals: int | None = None
    most: float | None = None
    steps: Steps | None = None
    words: tuple[Word, ...] = ()
    since: str = ""
    none: str = ""

    def __post_init__(self) -> None:
        is_number = isinstance(self.view, Numbers)
        size = 4 if is_number else 8
        object.__setattr__(self, "width", self.width or size)
        object.__setattr__(self, "height", self.height or size)
        if is_number and self.steps is None:
            object.__setattr__(self, "steps", NEUTRAL)

    @property
    def colours(self) -> frozenset[Colour]:
        """All colours that have a meaning in this panel."""
        found: set[Colour] = set(self.steps.colours if self.steps else ())
        found.update(word.colour for word in self.words)
        if isinstance(self.view, Table):
            for column in self.view.columns:
                found.update(column.steps.colours if column.steps else ())
                found.update(word.colour for word in column.words)
        return frozenset(found)

    @property
    def instant(self) -> bool:
        """Whether only the newest values are requested."""
        return isinstance(self.view, Table | Bars) or (isinstance(self.view, Numbers) and not self.view.trend)

    @property
    def description(self) -> str:
        """The text of the panel's information mark."""
        when = "When it is red" if Colour.BAD in self.colours else "When it looks wrong"
        return f"{self.shows}\n\n**{when}:** {self.act}"


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under a heading; a folded row sends no queries until it is opened."""

    title: str
    panels: tuple[Panel, ...]
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice at the top of a page: several values, or All, or a single one.

    Attributes:
        expr: a query whose series have the values as labels.
        value: the label with the values.
        text: the label that is shown instead, for example a name where the values are ids.
        single: whether it takes one value, at first the first one, and not several or All.
    """

    name: str
    title: str
    about: str
    expr: str
    value: str
    text: str = ""
    single: bool = False


@dataclass(frozen=True, slots=True)
class Marks:
    """Annotations: events that every graph of a page marks."""

    name: str
    query: Query
    title: str
    text: str
    colour: str


@dataclass(frozen=True, slots=True)
class Page:
    """A dashboard."""

    uid: str
    title: str
    about: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]
    since: str = "now-24h"
    ranked: bool = False
    alerts: bool = False
    marks: tuple[Marks, ...] = field(default=())

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panels, in reading order."""
        return tuple(panel for row in self.rows for panel in row.panels)
