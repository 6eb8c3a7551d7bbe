"""Converts panels to Grafana's JSON, with one function for each view."""

from string import ascii_uppercase

from dashboards.generator.colours import Colour, Thresholds, Word
from dashboards.generator.page import Column, Panel, Stat, StateTimeline, Table, TimeSeries

JSON = dict[str, object]

SOURCE: JSON = {"type": "prometheus", "uid": "${datasource}"}

# From this width on, a legend with figures fits next to the graph.
_WIDE = 12

_NEWEST: JSON = {"values": False, "calcs": ["lastNotNull"], "fields": ""}
_NO_LEGEND: JSON = {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": False}


def panel(declared: Panel) -> JSON:
    """Build a panel without its position on the page."""
    match declared.view:
        case TimeSeries():
            built = _graph(declared, declared.view)
        case Stat():
            built = _figures(declared)
        case StateTimeline():
            built = _timeline(declared)
        case Table():
            built = _table(declared, declared.view)
        case _:
            raise TypeError(declared.view)
    return built | {
        "title": declared.title,
        "description": declared.description,
        "datasource": SOURCE,
        "targets": _targets(declared),
        "transparent": False,
        "repeatDirection": "h",
        **_without_none(timeFrom=declared.view.since or None),
    }


def query(expr: str, step: str, letter: str, *, instant: bool) -> JSON:
    """Build a query of a panel or of an annotation."""
    return {
        "datasource": SOURCE,
        "editorMode": "code",
        "expr": expr,
        "instant": instant,
        "range": not instant,
        "interval": step,
        "refId": letter,
    }


def _targets(declared: Panel) -> list[JSON]:
    """Return the queries, which Grafana calls targets."""
    shape = "table" if isinstance(declared.view, Table) else "time_series"
    return [
        query(one.expr, one.step, letter, instant=declared.instant)
        | {"format": shape, **_without_none(legendFormat=one.legend or None)}
        for letter, one in zip(ascii_uppercase, declared.queries, strict=False)
    ]


def _graph(declared: Panel, view: TimeSeries) -> JSON:
    wide = declared.width >= _WIDE
    opacity = 8
    if view.bars:
        opacity = 60
    elif view.stack:
        opacity = 25
    custom: JSON = {
        "drawStyle": "bars" if view.bars else "line",
        "fillOpacity": opacity,
        "lineWidth": 1,
        "showPoints": "never",
        **_without_none(
            stacking={"mode": "normal", "group": "A"} if view.stack else None,
            thresholdsStyle={"mode": "dashed"} if view.steps else None,
        ),
    }
    legend: JSON = {
        "displayMode": "table" if wide else "list",
        "placement": "right" if wide else "bottom",
        "showLegend": True,
        "calcs": ["lastNotNull", "max"] if wide else [],
    }
    if wide and _has_series_by_label(declared):
        legend |= {"sortBy": "Last *", "sortDesc": True}
    return {
        "type": "timeseries",
        "options": {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc", "hideZeros": view.stack}},
        # Colours by name would be the same for some names.
        "fieldConfig": _fields(declared, "palette-classic", _line_overrides(view), custom=custom, min=view.least),
    }


def _line_overrides(view: TimeSeries) -> list[JSON]:
    overrides = [_override("byName", name, {"color": _fixed(colour)}) for name, colour in view.painted]
    if view.axis:
        # As an override of numbers, because one field is the time.
        overrides.append(_override("byType", "number", {"custom.axisLabel": view.axis}))
    if view.dashed:
        dash = {"custom.lineStyle": {"fill": "dash", "dash": [6, 6]}, "custom.fillOpacity": 0}
        overrides.append(_override("byRegexp", f"/^(?:{'|'.join(view.dashed)})$/", dash))
    return overrides


def _figures(declared: Panel) -> JSON:
    return {
        "type": "stat",
        "options": {
            "graphMode": "none",
            # Without sizes, Grafana would fill the panel with the figure.
            "text": {"titleSize": 13, "valueSize": 24},
            "colorMode": "background" if _can_turn_red_or_orange(declared) else "value",
            "reduceOptions": _NEWEST,
            "justifyMode": "auto",
            "orientation": "auto",
            "percentChangeColorMode": "standard",
            "showPercentChange": False,
            "textMode": "auto",
            "wideLayout": True,
        },
        "fieldConfig": _fields(declared, "thresholds"),
    }


def _timeline(declared: Panel) -> JSON:
    return {
        "type": "state-timeline",
        "options": {
            "showValue": "never",
            "legend": _NO_LEGEND,
            "alignValue": "left",
            "mergeValues": True,
            "perPage": 20,
            "rowHeight": 0.9,
            "tooltip": {"mode": "single", "sort": "asc"},
        },
        "fieldConfig": _fields(declared, "thresholds", custom={"fillOpacity": 80, "lineWidth": 0}),
    }


def _table(declared: Panel, view: Table) -> JSON:
    # With Grafana's default minimum width, the last columns would not be visible.
    custom = {"filterable": True, "minWidth": 60, "align": "auto", "inspect": False}
    return {
        "type": "table",
        "options": {
            "sortBy": [{"displayName": view.sort, "desc": not view.ascending}],
            "cellHeight": "sm",
            "footer": {"countRows": False, "reducer": [], "show": False},
            "frameIndex": 0,
            "showHeader": True,
            "showTypeIcons": False,
        },
        "fieldConfig": _fields(
            declared,
            "thresholds",
            [_override("byName", column.title, _column(column)) for column in view.columns],
            custom=custom,
        ),
        "transformations": _transformations(declared, view),
    }


def _transformations(declared: Panel, view: Table) -> list[JSON]:
    if not view.columns:
        return [{"id": "organize", "options": {"excludeByName": {"Time": True}}}]
    # Grafana names the value of a single result "Value", and those of several results "Value #A", "Value #B" and so on.
    # The queries of the columns come first, in the order of the columns.
    letters = iter(ascii_uppercase)
    names: dict[str, str] = {}
    for column in view.columns:
        if column.label:
            names[column.label] = column.title
        elif len(declared.queries) == 1:
            names["Value"] = column.title
        else:
            names[f"Value #{next(letters)}"] = column.title
    # If only the first of several results has rows, Grafana names it "Value".
    if "Value #A" in names:
        names["Value"] = names["Value #A"]
    order = {name: position for position, name in enumerate(names)}
    return [
        # Before the join, which would otherwise join on the time, too.
        {"id": "filterFieldsByName", "options": {"include": {"names": [*names]}}},
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"indexByName": order, "renameByName": names}},
    ]


def _column(column: Column) -> JSON:
    # Without `noValue` here, every empty cell would show the text of the empty table.
    properties: JSON = {"unit": "string" if column.label else column.unit, "noValue": "-"}
    if column.decimals is not None:
        properties["decimals"] = column.decimals
    if column.steps is not None:
        properties["thresholds"] = _thresholds(column.steps)
    if column.words:
        properties["mappings"] = _words(column.words)
    if column.steps is not None or column.words:
        properties["custom.cellOptions"] = {"type": "color-text"}
    if column.width is not None:
        properties["custom.width"] = column.width
    if column.hidden:
        # The first is for Grafana up to 12.1, the second for later versions.
        properties |= {"custom.hidden": True, "custom.hideFrom": {"legend": False, "tooltip": False, "viz": True}}
    if column.link:
        properties["links"] = [{"title": f"Open this {column.title.lower()}", "url": column.link}]
    return properties


def _fields(declared: Panel, colour: str, overrides: list[JSON] | None = None, **others: object) -> JSON:
    """Return how values are shown; `colour` is the mode by which Grafana chooses colours."""
    view = declared.view
    return {
        "defaults": {
            "unit": view.unit,
            "thresholds": _thresholds(view.steps or Thresholds(Colour.QUIET)),
            "color": {"mode": colour},
            "noValue": view.none,
            **_without_none(
                decimals=view.decimals,
                mappings=_words(view.words) if view.words else None,
                **others,
            ),
        },
        "overrides": overrides or [],
    }


def _has_series_by_label(declared: Panel) -> bool:
    return any("{{" in one.legend for one in declared.queries)


def _can_turn_red_or_orange(declared: Panel) -> bool:
    return bool(declared.colours & {Colour.BAD, Colour.WARN})


def _without_none(**values: object) -> JSON:
    return {name: value for name, value in values.items() if value is not None}


def _fixed(colour: Colour) -> JSON:
    return {"mode": "fixed", "fixedColor": colour.value}


def _thresholds(steps: Thresholds) -> JSON:
    every = ((None, steps.base), *steps.steps)
    return {"mode": "absolute", "steps": [{"value": value, "color": colour.value} for value, colour in every]}


def _words(words: tuple[Word, ...]) -> list[JSON]:
    options = {
        word.value: {"text": word.text, "color": word.colour.value, "index": index} for index, word in enumerate(words)
    }
    return [{"type": "value", "options": options}]


def _override(matcher: str, subject: str, properties: JSON) -> JSON:
    return {
        "matcher": {"id": matcher, "options": subject},
        "properties": [{"id": name, "value": value} for name, value in properties.items()],
    }
