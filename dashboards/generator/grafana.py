"""Converts pages to Grafana dashboards: variables, annotations, links and the grid."""

import zlib

from dashboards.generator import links, visuals
from dashboards.generator.page import Marks, Page, Panel, Row, Variable
from dashboards.generator.sdk import JSONEncoder, dashboard, prometheus

GRID = 24

_LIMITS = ("5", "10", "20", "50")
_LIMIT = "10"


def generate(page: Page) -> str:
    """Write a page as the JSON that Grafana's provisioning reads."""
    return JSONEncoder(sort_keys=True, indent=2).encode(build(page)) + "\n"


def build(page: Page) -> dashboard.Dashboard:
    """Build a page as Grafana's model."""
    return dashboard.Dashboard(
        uid=page.uid,
        title=page.title,
        description=page.about,
        tags=[links.TAG],
        editable=False,
        # The platform's days and months are UTC's, and so are the ticks of its charts.
        timezone="utc",
        time=dashboard.DashboardDashboardTime(from_val=page.since, to="now"),
        refresh="1m",
        graph_tooltip=dashboard.DashboardCursorSync.CROSSHAIR,
        links=[
            dashboard.DashboardLink(
                title="Edge platform",
                type_val=dashboard.DashboardLinkType.DASHBOARDS,
                icon="external link",
                tags=[links.TAG],
                as_dropdown=True,
                include_vars=True,
                keep_time=True,
            )
        ],
        templating=dashboard.DashboardDashboardTemplating(list_val=_variables(page)),
        annotations=dashboard.AnnotationContainer(list_val=[_marks(marks) for marks in page.marks]),
        panels=_panels(page),
    )


def _variables(page: Page) -> list[dashboard.VariableModel]:
    source = dashboard.VariableModel(
        type_val=dashboard.VariableType.DATASOURCE,
        name="datasource",
        label="Data source",
        description="The Prometheus that scrapes the exporter.",
        query="prometheus",
    )
    chosen = [source, *(_variable(variable) for variable in page.variables)]
    if page.ranked:
        chosen.append(
            dashboard.VariableModel(
                type_val=dashboard.VariableType.CUSTOM,
                name="top",
                label="Top",
                description="How many series a ranking shows.",
                query=",".join(_LIMITS),
                current=dashboard.VariableOption(selected=True, text=_LIMIT, value=_LIMIT),
                options=[
                    dashboard.VariableOption(selected=limit == _LIMIT, text=limit, value=limit) for limit in _LIMITS
                ],
            )
        )
    if page.alerts:
        chosen.append(
            dashboard.VariableModel(
                type_val=dashboard.VariableType.CONSTANT,
                name="runbooks",
                label="Runbooks",
                description="The folder of the runbooks to which alerts link.",
                query=links.RUNBOOKS,
                hide=dashboard.VariableHide.HIDE_VARIABLE,
            )
        )
    return chosen


def _variable(variable: Variable) -> dashboard.VariableModel:
    query, kind = f"label_values({variable.expr}, {variable.value})", 1
    regex = None
    if variable.text:
        # The labels of the result are sorted by name; empty labels are missing.
        query, kind = f"query_result({variable.expr})", 3
        text, value = f'{variable.text}="(?<text>[^"]+)"', f'{variable.value}="(?<value>[^"]+)"'
        in_order = variable.text < variable.value
        regex = rf"/(?:{text},\s*)?{value}/" if in_order else rf"/{value}(?:,\s*{text})?/"
    return dashboard.VariableModel(
        type_val=dashboard.VariableType.QUERY,
        name=variable.name,
        label=variable.title,
        description=variable.about,
        datasource=visuals.SOURCE,
        definition=query,
        query={"qryType": kind, "query": query, "refId": "PrometheusVariableQueryEditor-VariableQuery"},
        regex=regex,
        refresh=dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED,
        sort=dashboard.VariableSort.ALPHABETICAL_ASC,
        multi=not variable.single,
        include_all=not variable.single,
        all_value=None if variable.single else ".*",
        # Without a current value Grafana takes the first one.
        current=None if variable.single else dashboard.VariableOption(selected=True, text=["All"], value=["$__all"]),
    )


def _marks(marks: Marks) -> dashboard.AnnotationQuery:
    return dashboard.AnnotationQuery(
        name=marks.name,
        datasource=visuals.SOURCE,
        enable=True,
        icon_color=marks.colour,
        title_format=marks.title,
        text_format=marks.text,
        target=prometheus.Dataquery(
            datasource=visuals.SOURCE,
            editor_mode=prometheus.QueryEditorMode.CODE,
            expr=marks.query.expr,
            interval=marks.query.step,
            range_val=True,
            instant=False,
            ref_id="Anno",
        ),
    )


def _panels(page: Page) -> list[dashboard.Panel | dashboard.RowPanel]:
    placed: list[dashboard.Panel | dashboard.RowPanel] = []
    y = 0
    for row in page.rows:
        heading = dashboard.RowPanel(
            title=row.title,
            collapsed=row.folded,
            grid_pos=dashboard.GridPos(x=0, y=y, w=GRID, h=1),
            id_val=_identity(f"row {row.title}"),
            panels=[],
        )
        panels, y = _placed(row, y + 1)
        placed.append(heading)
        if row.folded:
            heading.panels = panels
        else:
            placed.extend(panels)
    return placed


def _placed(row: Row, y: int) -> tuple[list[dashboard.Panel], int]:
    """Put each panel in the highest free place, the leftmost of several; also return where the row ends."""
    floor = [y] * GRID
    panels: list[dashboard.Panel] = []
    for declared in row.panels:
        rests = [(max(floor[x : x + declared.width]), x) for x in range(GRID - declared.width + 1)]
        top, left = min(rests)
        floor[left : left + declared.width] = [top + declared.height] * declared.width
        panels.append(_panel(declared, left, top))
    return panels, max(floor)


def _panel(declared: Panel, x: int, y: int) -> dashboard.Panel:
    panel = visuals.panel(declared)
    panel.id_val = _identity(declared.title)
    panel.grid_pos = dashboard.GridPos(x=x, y=y, w=declared.width, h=declared.height)
    return panel


def _identity(title: str) -> int:
    # Made from the title, so that links to a panel still work when other panels change.
    return zlib.crc32(title.encode()) % 1_000_000 + 1
