"""Converts panels to Grafana's models, with one function for each view."""

from string import ascii_uppercase

from dashboards.generator.page import Bars, Colour, Column, Lines, Numbers, Panel, Steps, Table, Timeline, Word
from dashboards.generator.sdk import (
    bargauge,
    common,
    dashboard,
    prometheus,
    stat,
    statetimeline,
    table,
    timeseries,
)

SOURCE = common.DataSourceRef(type_val="prometheus", uid="${datasource}")

# From this width on, a legend with figures fits next to the graph.
_WIDE = 12
# Up to this height a large figure would hide the line behind it.
_LOW = 3

Properties = dict[str, object]


def panel(declared: Panel) -> dashboard.Panel:
    """Build a panel without its position on the page."""
    match declared.view:
        case Lines():
            built = _lines(declared, declared.view)
        case Numbers():
            built = _numbers(declared, declared.view)
        case Bars():
            built = _bars(declared, declared.view)
        case Timeline():
            built = _timeline(declared)
        case Table():
            built = _table(declared, declared.view)
    built.title = declared.title
    built.description = declared.description
    built.datasource = SOURCE
    built.targets = [*_targets(declared)]
    built.time_from = declared.since or None
    return built


def _targets(declared: Panel) -> list[prometheus.Dataquery]:
    shape = prometheus.PromQueryFormat.TIME_SERIES
    if isinstance(declared.view, Table):
        shape = prometheus.PromQueryFormat.TABLE
    return [
        prometheus.Dataquery(
            datasource=SOURCE,
            editor_mode=prometheus.QueryEditorMode.CODE,
            expr=query.expr,
            format_val=shape,
            instant=declared.instant,
            range_val=not declared.instant,
            interval=query.step,
            legend_format=query.legend or None,
            ref_id=letter,
        )
        for letter, query in zip(ascii_uppercase, declared.queries, strict=False)
    ]


def _lines(declared: Panel, view: Lines) -> dashboard.Panel:
    # Lines that a ranking chose are listed by their newest values.
    wide = declared.width >= _WIDE
    ranked = wide and any("{{" in query.legend for query in declared.queries)
    custom = common.GraphFieldConfig(
        draw_style=common.GraphDrawStyle.BARS if view.bars else common.GraphDrawStyle.LINE,
        fill_opacity=60 if view.bars else 25 if view.stack else 8,
        line_width=1,
        show_points=common.VisibilityMode.NEVER,
        stacking=common.StackingConfig(mode=common.StackingMode.NORMAL, group="A") if view.stack else None,
        thresholds_style=(
            common.GraphThresholdsStyleConfig(mode=common.GraphThresholdsStyleMode.DASHED) if declared.steps else None
        ),
    )
    overrides = _painted(view.painted)
    if view.axis:
        # Not for all fields: one is the time.
        overrides.append(_override("byType", "number", {"custom.axisLabel": view.axis}))
    if view.dashed:
        dash = {"custom.lineStyle": {"fill": "dash", "dash": [6, 6]}, "custom.fillOpacity": 0}
        overrides.append(_override("byRegexp", f"/^(?:{'|'.join(view.dashed)})$/", dash))
    if view.band:
        lower, upper = view.band
        overrides.append(_override("byName", upper, {"custom.fillBelowTo": lower, "custom.fillOpacity": 12}))
    return dashboard.Panel(
        type_val="timeseries",
        options=timeseries.Options(
            legend=common.VizLegendOptions(
                display_mode=common.LegendDisplayMode.TABLE if wide else common.LegendDisplayMode.LIST,
                placement=common.LegendPlacement.RIGHT if wide else common.LegendPlacement.BOTTOM,
                show_legend=True,
                calcs=["lastNotNull", "max"] if wide else [],
                sort_by="Last *" if ranked else None,
                sort_desc=True if ranked else None,
            ),
            tooltip=common.VizTooltipOptions(
                mode=common.TooltipDisplayMode.MULTI, sort=common.SortOrder.DESCENDING, hide_zeros=view.stack
            ),
        ),
        field_config=_fields(
            # Colours by name would be the same for some names.
            declared,
            custom,
            dashboard.FieldColorModeId.PALETTE_CLASSIC,
            overrides,
            least=view.least,
        ),
    )


def _numbers(declared: Panel, view: Numbers) -> dashboard.Panel:
    alarming = declared.colours & {Colour.BAD, Colour.WARN}
    # By default Grafana fills the panel with the figure; several figures share one panel.
    single = not any("{{" in query.legend for query in declared.queries)
    return dashboard.Panel(
        type_val="stat",
        options=stat.Options(
            graph_mode=common.BigValueGraphMode.AREA if view.trend else common.BigValueGraphMode.NONE,
            text=common.VizTextDisplayOptions(
                title_size=13, value_size=34 if single and declared.height > _LOW else 24
            ),
            color_mode=common.BigValueColorMode.BACKGROUND if alarming else common.BigValueColorMode.VALUE,
            reduce_options=common.ReduceDataOptions(values=False, calcs=["lastNotNull"], fields=""),
        ),
        field_config=_fields(declared, None, dashboard.FieldColorModeId.THRESHOLDS),
    )


def _bars(declared: Panel, view: Bars) -> dashboard.Panel:
    alarming = declared.colours & {Colour.BAD, Colour.WARN}
    return dashboard.Panel(
        type_val="bargauge",
        options=bargauge.Options(
            display_mode=common.BarGaugeDisplayMode.BASIC,
            value_mode=common.BarGaugeValueMode.TEXT,
            orientation=common.VizOrientation.HORIZONTAL,
            text=common.VizTextDisplayOptions(title_size=12, value_size=16),
            reduce_options=common.ReduceDataOptions(values=False, calcs=["lastNotNull"], fields=""),
        ),
        field_config=_fields(
            declared,
            None,
            # Bars without thresholds are coloured by their names.
            dashboard.FieldColorModeId.THRESHOLDS if alarming else dashboard.FieldColorModeId.PALETTE_CLASSIC_BY_NAME,
            _painted(view.painted),
            # Or the bar of the least value would have no length.
            least=0,
        ),
    )


def _timeline(declared: Panel) -> dashboard.Panel:
    return dashboard.Panel(
        type_val="state-timeline",
        options=statetimeline.Options(
            show_value=common.VisibilityMode.NEVER,
            legend=common.VizLegendOptions(show_legend=False),
        ),
        field_config=_fields(
            declared, statetimeline.FieldConfig(fill_opacity=80), dashboard.FieldColorModeId.THRESHOLDS
        ),
    )


def _table(declared: Panel, view: Table) -> dashboard.Panel:
    return dashboard.Panel(
        type_val="table",
        options=table.Options(
            sort_by=[common.TableSortByFieldState(display_name=view.sort, desc=not view.ascending)],
            cell_height=common.TableCellHeight.SM,
        ),
        field_config=_fields(
            declared,
            # Grafana's own least width would push the last columns out of sight.
            common.TableFieldOptions(filterable=True, min_width=60),
            dashboard.FieldColorModeId.THRESHOLDS,
            [_override("byName", column.title, _column(column, declared)) for column in view.columns],
        ),
        transformations=_rows(declared, view),
    )


def _rows(declared: Panel, view: Table) -> list[dashboard.DataTransformerConfig]:
    """Select the shown fields, join the results on their common labels, and set order and headings."""
    if not view.columns:
        return [dashboard.DataTransformerConfig(id_val="organize", options={"excludeByName": {"Time": True}})]
    join = dashboard.DataTransformerConfig(id_val="merge", options={})
    # The value of a single result is named Value, those of several results Value #A, Value #B and so on. If all but the
    # first of several results are empty, Grafana uses the name for a single one.
    values = iter(["Value"] if len(declared.queries) == 1 else [f"Value #{letter}" for letter in ascii_uppercase])
    names = {column.label or next(values): column.title for column in view.columns}
    if "Value #A" in names:
        names["Value"] = names["Value #A"]
    return [
        # Before the join, which would otherwise join on the time, too.
        dashboard.DataTransformerConfig(id_val="filterFieldsByName", options={"include": {"names": [*names]}}),
        join,
        dashboard.DataTransformerConfig(
            id_val="organize",
            options={
                "indexByName": {name: position for position, name in enumerate(names)},
                "renameByName": names,
            },
        ),
    ]


def _column(column: Column, declared: Panel) -> Properties:
    properties: Properties = {"unit": "string" if column.label else column.unit}
    if declared.none:
        # Otherwise every empty cell would show the text of the empty table.
        properties["noValue"] = "-"
    if column.decimals is not None:
        properties["decimals"] = column.decimals
    if column.steps is not None:
        properties["thresholds"] = _thresholds(column.steps)
    if column.words:
        properties["mappings"] = [_words(column.words)]
    if column.steps is not None or column.words:
        properties["custom.cellOptions"] = {"type": "color-text"}
    if column.bar:
        properties |= {"custom.cellOptions": {"type": "gauge", "mode": "basic"}, "min": 0, "fieldMinMax": True}
        properties["color"] = dashboard.FieldColor(dashboard.FieldColorModeId.FIXED, Colour.INFO.value)
    if column.width is not None:
        properties["custom.width"] = column.width
    if column.hidden:
        # The first is for Grafana up to 12.1, the second for later versions.
        properties |= {"custom.hidden": True, "custom.hideFrom": {"legend": False, "tooltip": False, "viz": True}}
    if column.link:
        properties["links"] = [{"title": f"Open this {column.title.lower()}", "url": column.link}]
    return properties


def _fields(
    declared: Panel,
    custom: object,
    colour: dashboard.FieldColorModeId,
    overrides: list[dashboard.DashboardFieldConfigSourceOverrides] | None = None,
    least: float | None = None,
) -> dashboard.FieldConfigSource:
    return dashboard.FieldConfigSource(
        defaults=dashboard.FieldConfig(
            unit=declared.unit,
            decimals=declared.decimals,
            min_val=least,
            max_val=declared.most,
            mappings=[_words(declared.words)] if declared.words else None,
            thresholds=_thresholds(declared.steps or Steps(Colour.QUIET)),
            color=dashboard.FieldColor(mode=colour),
            no_value=declared.none or None,
            custom=custom,
        ),
        overrides=overrides or [],
    )


def _painted(painted: tuple[tuple[str, Colour], ...]) -> list[dashboard.DashboardFieldConfigSourceOverrides]:
    return [
        _override("byName", name, {"color": dashboard.FieldColor(dashboard.FieldColorModeId.FIXED, colour.value)})
        for name, colour in painted
    ]


def _thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    return dashboard.ThresholdsConfig(
        mode=dashboard.ThresholdsMode.ABSOLUTE,
        steps=[
            dashboard.Threshold(value=None, color=steps.base.value),
            *(dashboard.Threshold(value=value, color=colour.value) for value, colour in steps.steps),
        ],
    )


def _words(words: tuple[Word, ...]) -> dashboard.ValueMap:
    return dashboard.ValueMap(
        options={
            word.value: dashboard.ValueMappingResult(text=word.text, color=word.colour.value, index=index)
            for index, word in enumerate(words)
        }
    )


def _override(matcher: str, subject: str, properties: Properties) -> dashboard.DashboardFieldConfigSourceOverrides:
    return dashboard.DashboardFieldConfigSourceOverrides(
        matcher=dashboard.MatcherConfig(id_val=matcher, options=subject),
        properties=[dashboard.DynamicConfigValue(id_val=name, value=value) for name, value in properties.items()],
    )
