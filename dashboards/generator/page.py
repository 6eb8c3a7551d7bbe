"""Defines dashboards as data: pages of rows of panels, each with its texts, how it is drawn, and its queries."""

from dataclasses import dataclass

from dashboards.generator import intervals
from dashboards.generator.colours import NEUTRAL, RED_FROM_ONE, Colour, Thresholds, Word

# DNS queries a second, with Grafana's own prefixes for thousands and millions.
QUERIES = "si:queries/s"


@dataclass(frozen=True, slots=True)
class Query:
    """One PromQL query of a panel.

    Attributes:
        expr: the expression, with Grafana's variables.
        legend: the name of a series, made from its labels.
        step: the smallest distance between two points; by default the longest interval of the collectors that poll
            the metrics of the expression.
        quiet: for a query that usually has no result: the event after which it has one. Only tests read this.
    """

    expr: str
    legend: str = ""
    step: str = ""
    quiet: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", self.step or intervals.step_of(self.expr))


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How a panel draws its values.

    Attributes:
        steps: the colours of values.
        words: values that are shown as words.
        none: the text that is shown in place of a missing value.
        height: the number of grid rows.
        since: the panel's own time range, which overrides that of the page.
    """

    unit: str = "short"
    decimals: int | None = None
    steps: Thresholds | None = None
    words: tuple[Word, ...] = ()
    none: str = "No series: /explain at the exporter says why."
    height: int = 8
    since: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSeries(View):
    """A graph of values over time.

    Attributes:
        stack: whether the series add up to a total.
        bars: whether each value is drawn as a bar.
        dashed: regular expressions for the legends of lines that are only for comparison.
        painted: legends with a fixed colour.
        least: the start of the axis; None for the smallest value.
        axis: the label of the axis, such as `per hour`.
    """

    stack: bool = False
    bars: bool = False
    dashed: tuple[str, ...] = ()
    painted: tuple[tuple[str, Colour], ...] = ()
    least: float | None = 0
    axis: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat(View):
    """The newest values in large figures."""

    steps: Thresholds | None = NEUTRAL
    none: str = "no data"
    height: int = 3


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason why the figure of a tile is unknown.

    Attributes:
        value: the result of the tile's query in this case, below 0.
        word: what the tile shows in this case.
        means: when the tile shows the word, for the panel's text.
        expr: a query that has a result while the reason applies.
    """

    value: int
    word: Word
    means: str
    expr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile(Stat):
    """A figure of 0 or more, or a word that says why the figure is unknown.

    Attributes:
        unknown: the reasons why a 0 may be wrong, the most important first.
    """

    unknown: tuple[Reason, ...]
    steps: Thresholds | None = RED_FROM_ONE
    none: str = "none polled"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTimeline(View):
    """States over time, with a row for each series."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: the heading.
        query: the query whose values it shows; empty for a column that shows a label.
        label: the label whose values it shows.
        link: the address of a page about the subject of the row.
        hidden: whether it only provides values for links.
    """

    title: str
    query: str | Query = ""
    label: str = ""
    unit: str = "short"
    decimals: int | None = None
    steps: Thresholds | None = None
    words: tuple[Word, ...] = ()
    width: int | None = None
    link: str = ""
    hidden: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(View):
    """The newest values as rows, sorted by a column; values of several queries with the same labels are in one row."""

    sort: str
    ascending: bool = False
    columns: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel: its queries, how it is drawn, and the texts of its information mark.

    Attributes:
        shows: what it shows, in sentences.
        act: what to do when it is red or, if it cannot turn red, when it looks wrong.
        width: how many of the page's 24 columns it takes.
    """

    title: str
    shows: str
    act: str
    view: View
    queries: tuple[Query, ...]
    width: int = 0

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of a table."""
        return self.view.columns if isinstance(self.view, Table) else ()

    @property
    def colours(self) -> frozenset[Colour]:
        """All colours that have a meaning in this panel."""
        found: set[Colour] = set()
        parts: list[View | Column] = [self.view, *self.columns]
        for part in parts:
            found.update(word.colour for word in part.words)
            if part.steps is not None:
                found |= part.steps.colours
        return frozenset(found)

    @property
    def instant(self) -> bool:
        """Whether only the newest values are requested."""
        return isinstance(self.view, Table | Stat)

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
    """A choice at the top of a page.

    Attributes:
        expr: a query for series with the label `value`.
        value: the label whose values can be chosen.
        text: the label that is shown instead of the value, such as the name of an id.
        single: whether one value is chosen; otherwise several, or All.
    """

    name: str
    title: str
    about: str
    expr: str
    value: str
    text: str = ""
    single: bool = False


@dataclass(frozen=True, slots=True)
class Annotation:
    """Events that are marked in every graph of a page."""

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
    annotations: tuple[Annotation, ...] = ()

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panels, in reading order."""
        return tuple(panel for row in self.rows for panel in row.panels)
