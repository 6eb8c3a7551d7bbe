"""What a dashboard is, as declared data: pages of rows of panels, each with its queries and its words."""

from dataclasses import dataclass, field
from enum import StrEnum

from dashboards.generator import intervals


class Colour(StrEnum):
    """Colours by what they mean; the values are Grafana's names."""

    GOOD = "green"
    WARN = "orange"
    BAD = "red"
    INFO = "blue"
    HINT = "purple"
    QUIET = "text"


@dataclass(frozen=True, slots=True)
class Steps:
    """Which colour a value takes: that of the last step at or below it, or `base` below all."""

    base: Colour
    steps: tuple[tuple[float, Colour], ...] = ()

    @property
    def colours(self) -> frozenset[Colour]:
        """All colours that a value may take."""
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
    """Green below a value, orange from it on: worth a look, nothing is broken."""
    return Steps(Colour.GOOD, ((value, Colour.WARN),))


def warn_then_red(warn: float, bad: float) -> Steps:
    """Green, then orange, then red, as the value grows."""
    return Steps(Colour.GOOD, ((warn, Colour.WARN), (bad, Colour.BAD)))


def red_then_warn(bad_below: float, warn_below: float) -> Steps:
    """Red, then orange, then green, as the value grows: for time that is left."""
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
        expr: the expression, with Grafana's variables in it.
        legend: how a series is named, by its labels.
        step: the least distance of two points; where it is not given, the longest interval at which a collector polls
            what the expression names.
        quiet: for a query that finds nothing where all is well: the event after which it finds something.
    """

    expr: str
    legend: str = ""
    step: str = ""
    quiet: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", self.step or intervals.step_of(self.expr))


@dataclass(frozen=True, slots=True)
class Lines:
    """Values over time.

    Attributes:
        stack: whether the series add up to something.
        bars: whether each point stands for a period of its own.
        dashed: expressions for the legends of the lines that only compare.
        band: the legends of a lower and an upper line, between which the space is filled.
        painted: legends that have a colour by what they mean.
        least: where the axis begins; None for the least value.
    """

    stack: bool = False
    bars: bool = False
    dashed: tuple[str, ...] = ()
    band: tuple[str, str] | None = None
    painted: tuple[tuple[str, Colour], ...] = ()
    least: float | None = 0


ACTION_PAINT = (
    ("logged", Colour.INFO),
    ("challenged", Colour.WARN),
    ("blocked", Colour.BAD),
    ("unclassified", Colour.HINT),
)
ACTION_WORDS = tuple(Word(action, action, colour) for action, colour in ACTION_PAINT)
MODE_WORDS = (Word("block", "block", Colour.GOOD), Word("log", "log", Colour.WARN), Word("off", "off", Colour.BAD))
STATUS_PAINT = (
    ("completed", Colour.GOOD),
    ("pending", Colour.INFO),
    ("in_progress", Colour.HINT),
    ("failed", Colour.BAD),
    ("unknown", Colour.WARN),
)
SEVERITY_PAINT = (("critical", Colour.BAD), ("warning", Colour.WARN), ("info", Colour.INFO))


@dataclass(frozen=True, slots=True)
class Numbers:
    """The newest values, large; with `trend`, over a faint line of how they came about."""

    trend: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    """The newest values of several series, as bars to compare.

    Attributes:
        painted: legends that have a colour by what they mean.
    """

    painted: tuple[tuple[str, Colour], ...] = ()


@dataclass(frozen=True, slots=True)
class Timeline:
    """States over time, a row a series."""


@dataclass(frozen=True, slots=True)
class Heatmap:
    """A histogram's buckets over time."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: its heading.
        label: the label that it shows; empty for a query's value.
        link: the path of a page about the row's subject.
        hidden: whether it is there for links alone.
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


@dataclass(frozen=True, slots=True)
class Table:
    """The newest values as rows: of several queries, those whose labels agree stand in one row.

    The columns without a label show the values of the panel's queries, in order; queries past them bring labels only.
    """

    columns: tuple[Column, ...]
    sort: str
    ascending: bool = False


def table(*columns: Column, sort: str, ascending: bool = False) -> Table:
    """Make a table of these columns, sorted by the one with this title."""
    return Table(columns, sort, ascending)


View = Lines | Numbers | Bars | Timeline | Heatmap | Table


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel: what it asks, how it is drawn, and what a reader should make of it.

    Attributes:
        shows: what is seen, in a sentence or two.
        act: what to do when it is red or, where nothing turns red, when it looks wrong.
        width: of the page's 24 columns; 4 for numbers, 8 for all else where it is not given.
        height: in rows; as the width where it is not given.
        steps: the colours of values; numbers are neutral where it is not given.
        since: a time range of the panel's own, whatever is chosen for the page.
        none: what is said in place of an empty panel.
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
        """All colours that stand for something in this panel."""
        found: set[Colour] = set(self.steps.colours if self.steps else ())
        found.update(word.colour for word in self.words)
        if isinstance(self.view, Table):
            for column in self.view.columns:
                found.update(column.steps.colours if column.steps else ())
                found.update(word.colour for word in column.words)
        return frozenset(found)

    @property
    def instant(self) -> bool:
        """Whether only the newest values are asked for."""
        return isinstance(self.view, Table | Bars) or (isinstance(self.view, Numbers) and not self.view.trend)

    @property
    def description(self) -> str:
        """The text behind the panel's information mark."""
        when = "When it is red" if Colour.BAD in self.colours else "When it looks wrong"
        return f"{self.shows}\n\n**{when}:** {self.act}"


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under a heading; a folded row asks nothing until it is opened."""

    title: str
    panels: tuple[Panel, ...]
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice at the top of a page, of several values or All.

    Attributes:
        expr: a query whose series carry the values.
        value: the label that is chosen by.
        text: the label that is shown in its place, where ids are chosen by and names are read.
    """

    name: str
    title: str
    about: str
    expr: str
    value: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Marks:
    """Events that are marked on every graph of a page."""

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
