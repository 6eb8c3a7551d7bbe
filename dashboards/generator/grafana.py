"""Converts pages to Grafana dashboards: variables, annotations, links and the positions of panels.

It writes the classic schema, which file provisioning and the sidecar read.
"""

import json
import zlib

from dashboards.generator import links, promql, visuals
from dashboards.generator.page import Annotation, Page, Panel, Row, Variable
from dashboards.generator.visuals import JSON, SOURCE

GRID = 24

_LIMITS = ("5", "10", "20", "50")
_LIMIT = "10"
# The numbers that Grafana gives to its enumerations.
_CROSSHAIR, _HIDE_VARIABLE, _ON_TIME_RANGE_CHANGED, _ALPHABETICAL = 1, 2, 2, 1
_LABEL_VALUES, _QUERY_RESULT = 1, 3
_IN_CONTROLS = "inControlsMenu"


def generate(page: Page) -> str:
    """Return a page as the JSON that Grafana's provisioning reads."""
    return json.dumps(build(page), sort_keys=True, indent=2) + "\n"


def build(page: Page) -> JSON:
    """Build a page as Grafana's dashboard."""
    menu: JSON = {
        "title": "Edge platform",
        "type": "dashboards",
        "icon": "external link",
        "tags": [links.TAG],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
        "placement": _IN_CONTROLS,
        "targetBlank": False,
        "tooltip": "",
    }
    return {
        "uid": page.uid,
        "title": page.title,
        "description": page.about,
        "tags": [links.TAG],
        "editable": False,
        # The platform's days and months, and the buckets of its charts, are in UTC.
        "timezone": "utc",
        "time": {"from": page.since, "to": "now"},
        "refresh": "1m",
        "graphTooltip": _CROSSHAIR,
        "fiscalYearStartMonth": 0,
        "schemaVersion": 42,
        "links": [menu],
        "templating": {"list": _variables(page)},
        "annotations": {"list": [_annotation(one) for one in page.annotations]},
        "panels": _panels(page),
    }


def _variables(page: Page) -> list[JSON]:
    source = _choice("datasource", "datasource", "Data source", "The Prometheus that scrapes the exporter.")
    chosen = [source | {"query": "prometheus"}, *(_variable(variable) for variable in page.variables)]
    if any(promql.TOP in query.expr for panel in page.panels for query in panel.queries):
        chosen.append(
            _choice("custom", "top", "Top", "How many series a ranking shows.")
            | {
                "query": ",".join(_LIMITS),
                "current": {"selected": True, "text": _LIMIT, "value": _LIMIT},
                "options": [{"selected": limit == _LIMIT, "text": limit, "value": limit} for limit in _LIMITS],
            }
        )
    if any("${runbooks" in column.link for panel in page.panels for column in panel.columns):
        chosen.append(
            _choice("constant", "runbooks", "Runbooks", "The folder of the runbooks to which alerts link.")
            | {"query": links.RUNBOOKS, "hide": _HIDE_VARIABLE}
        )
    return chosen


def _choice(kind: str, name: str, label: str, about: str) -> JSON:
    return {
        "type": kind,
        "name": name,
        "label": label,
        "description": about,
        "multi": False,
        "includeAll": False,
        "allowCustomValue": True,
        "auto": False,
        "auto_count": 30,
        "auto_min": "10s",
        "skipUrlSync": False,
    }


def _variable(variable: Variable) -> JSON:
    built = _choice("query", variable.name, variable.title, variable.about)
    built |= {"datasource": SOURCE, "refresh": _ON_TIME_RANGE_CHANGED, "sort": _ALPHABETICAL}
    if variable.text:
        built |= _values_of(f"query_result({variable.expr})", _QUERY_RESULT)
        built["regex"] = _pattern(variable.text, variable.value)
    else:
        built |= _values_of(f"label_values({variable.expr}, {variable.value})", _LABEL_VALUES)
    if not variable.single:
        built |= {"multi": True, "includeAll": True, "allValue": ".*"}
        # Without a current value, Grafana would choose the first one.
        built["current"] = {"selected": True, "text": ["All"], "value": ["$__all"]}
    return built


def _values_of(query: str, kind: int) -> JSON:
    asked = {"qryType": kind, "query": query, "refId": "PrometheusVariableQueryEditor-VariableQuery"}
    return {"definition": query, "query": asked}


def _pattern(text: str, value: str) -> str:
    """Return the pattern by which Grafana finds the value in a series and, if there is one, the text shown for it."""
    # The labels of a series are sorted by name.
    shown, chosen = f'{text}="(?<text>[^"]+)"', f'{value}="(?<value>[^"]+)"'
    return rf"/(?:{shown},\s*)?{chosen}/" if text < value else rf"/{chosen}(?:,\s*{shown})?/"


def _annotation(declared: Annotation) -> JSON:
    return {
        "name": declared.name,
        "datasource": SOURCE,
        "enable": True,
        "hide": False,
        "builtIn": 0,
        "iconColor": declared.colour,
        "placement": _IN_CONTROLS,
        "titleFormat": declared.title,
        "textFormat": declared.text,
        "target": visuals.query(declared.query.expr, declared.query.step, "Anno", instant=False),
    }


def _panels(page: Page) -> list[JSON]:
    placed: list[JSON] = []
    y = 0
    for row in page.rows:
        heading: JSON = {
            "type": "row",
            "title": row.title,
            "collapsed": row.folded,
            "gridPos": {"x": 0, "y": y, "w": GRID, "h": 1},
            "id": _identity(f"row {row.title}"),
        }
        panels, y = _placed(row, y + 1)
        if row.folded:
            placed.append(heading | {"panels": panels})
        else:
            placed += [heading | {"panels": []}, *panels]
    return placed


def _placed(row: Row, first_line: int) -> tuple[list[JSON], int]:
    """Place each panel as high as possible, then as far left; return the panels, and the first grid line below them."""
    # The first free grid line of each column.
    free = [first_line] * GRID
    panels: list[JSON] = []
    for declared in row.panels:
        # Every position at which the panel fits: its first grid line, and its first column.
        positions = [(max(free[x : x + declared.width]), x) for x in range(GRID - declared.width + 1)]
        top, left = min(positions)
        free[left : left + declared.width] = [top + declared.view.height] * declared.width
        panels.append(_panel(declared, left, top))
    return panels, max(free)


def _panel(declared: Panel, x: int, y: int) -> JSON:
    box = {"x": x, "y": y, "w": declared.width, "h": declared.view.height}
    return visuals.panel(declared) | {"id": _identity(declared.title), "gridPos": box}


def _identity(title: str) -> int:
    """Return a panel's id, made from its title, so that links to it still work when other panels change."""
    # Grafana gives another id to a panel with the id 0.
    return zlib.crc32(title.encode()) % 1_000_000 + 1
