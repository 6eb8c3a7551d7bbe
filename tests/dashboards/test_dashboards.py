"""The dashboards' JSON, by the rules of Grafana's public linter and by those of this project."""

import itertools
import json
import re
import warnings
from collections import Counter
from typing import Any

import pytest

from dashboards.generator.all_pages import PAGES
from dashboards.generator.colours import Colour
from dashboards.generator.grafana import GRID, generate
from dashboards.generator.page import Page, Panel, Stat, Table
from dashboards.generator.queries import figures, subject
from tests.deploy.files import DASHBOARDS, RULES
from tests.rules.rule_files import load_alerts

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins
    from grafana_foundation_sdk.models import dashboard

# The ids of the value formats of @grafana/data that the dashboards use.
UNITS = {
    *("bytes", "currencyUSD", "dateTimeAsIso", "dateTimeFromNow", "none", "ops", "percentunit", "reqps", "s", "short"),
    *("si:queries/s", "string", "suffix: intervals", "suffix: per min"),
}

# Addresses in bookmarks and in links from alerts: they never change.
UIDS = ("edge-overview", "edge-dns", "edge-zone", "edge-scripts", "edge-shield", "edge-database", "edge-exporter")

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.uid)
every_panel = pytest.mark.parametrize(
    "panel", [panel for page in PAGES for panel in page.panels], ids=lambda panel: panel.title
)


def loaded(page: Page) -> dict[str, Any]:
    """Parse the JSON of a page."""
    parsed: dict[str, Any] = json.loads(generate(page))
    return parsed


def drawn(page: Page, *, headings: bool = False) -> list[dict[str, Any]]:
    """Return all panels of the page's JSON, also those in folded rows, with or without headings."""
    every = [inner for panel in loaded(page)["panels"] for inner in (panel, *panel.get("panels", ()))]
    return [panel for panel in every if headings or panel["type"] != "row"]


def test_committed_is_what_the_code_generates() -> None:
    """`make generate` changes nothing, and nothing else is committed."""
    held = {path.stem: path.read_text() for path in DASHBOARDS.glob("*.json")}
    assert held == {page.uid: generate(page) for page in PAGES}
    assert tuple(page.uid for page in PAGES) == UIDS


def test_there_are_not_more_panels_than_a_person_can_know() -> None:
    """A new panel takes the place of one that no one acts on."""
    assert sum(len(page.panels) for page in PAGES) <= 90


@every_page
def test_is_read_whole_by_the_sdk(page: Page) -> None:
    """A misspelt or misplaced key would be lost on the way through the SDK's strict models.

    It cannot be edited in Grafana, because provisioning would discard the edits, and its changes are read as diffs.
    """
    register_default_plugins()
    raw = loaded(page)
    assert json.loads(JSONEncoder().encode(dashboard.Dashboard.from_json(raw))) == raw
    assert raw["editable"] is False
    assert generate(page) == json.dumps(raw, sort_keys=True, indent=2) + "\n"


@pytest.mark.parametrize(
    ("name", "series", "expected"),
    [
        ("zone", '{domain="a.example", zone_id="101"} 1 1700000000000', ("a.example", "101")),
        ("zone", '{domain="a.example",zone_id="101"} 1 1700000000000', ("a.example", "101")),
        ("zone", '{zone_id="101"} 1 1700000000000', (None, "101")),
        ("script", '{script="router",script_id="7"} 1 1700000000000', ("router", "7")),
        ("script", '{script_id="7"} 1 1700000000000', (None, "7")),
        ("shield_zone", '{pull_zone="shop",shield_zone_id="3"} 1 1700000000000', ("shop", "3")),
        ("shield_zone", '{shield_zone_id="3"} 1 1700000000000', (None, "3")),
    ],
)
def test_things_are_chosen_by_id_and_shown_by_name(name: str, series: str, expected: tuple[str | None, str]) -> None:
    variables = [variable for page in PAGES for variable in loaded(page)["templating"]["list"]]
    regex = next(variable["regex"] for variable in variables if variable["name"] == name)
    found = re.search(regex.strip("/").replace("(?<", "(?P<"), series)
    assert found
    assert (found["text"], found["value"]) == expected


@every_page
def test_units_are_grafanas(page: Page) -> None:
    for panel in drawn(page):
        config = panel["fieldConfig"]
        changed = [override for group in config["overrides"] for override in group["properties"]]
        units = {config["defaults"]["unit"], *(override["value"] for override in changed if override["id"] == "unit")}
        assert units - UNITS == set(), panel["title"]


@every_panel
def test_words_are_sentences(panel: Panel) -> None:
    assert panel.shows.endswith(".")
    assert panel.act.endswith(".")


@every_page
def test_panels_do_not_overlap_and_leave_no_holes(page: Page) -> None:
    cells: Counter[tuple[int, int]] = Counter()
    height = 0
    for panel in drawn(page, headings=True):
        box = panel["gridPos"]
        columns, rows = range(box["x"], box["x"] + box["w"]), range(box["y"], box["y"] + box["h"])
        assert 0 <= columns.start < columns.stop <= GRID, panel["title"]
        cells.update(itertools.product(columns, rows))
        height = max(height, rows.stop)
    assert {cell: count for cell, count in cells.items() if count > 1} == {}
    empty = {(x, y) for x in range(GRID) for y in range(height)} - cells.keys()
    assert empty == set(), f"the widths of the panels beside each other do not add up to {GRID}"


@every_page
def test_panels_are_known_by_their_titles(page: Page) -> None:
    """Titles are unique, and so are the ids made from them, which links to panels contain."""
    titles = [panel.title for panel in page.panels]
    ids = {panel["id"] for panel in drawn(page, headings=True)}
    assert len(titles) == len(set(titles))
    assert len(ids) == len(titles) + len(page.rows)


@every_page
def test_links_of_rows_lead_to_choices_that_exist(page: Page) -> None:
    choices = {other.uid: {variable.name for variable in other.variables} for other in PAGES}
    for panel in page.panels:
        if not isinstance(panel.view, Table):
            continue
        titles = {column.title for column in panel.view.columns}
        for column in panel.view.columns:
            if not column.link:
                continue
            # A row of alerts or findings names its own page.
            uid = re.match(r"(?:/d/([a-z-]+|\$\{__data\.fields\.page\})\?|\$\{runbooks:raw\}/)", column.link)
            named = {name for name, _ in re.findall(r"var-([a-z_]+)=\$\{__data\.fields\.(\w+)\}", column.link)}
            assert uid is not None
            assert set(re.findall(r"fields\.(\w+)", column.link)) <= titles, panel.title
            assert named <= choices.get(uid.group(1), set().union(*choices.values()))


@every_panel
def test_no_tile_is_green_while_its_figure_is_not_known(panel: Panel) -> None:
    if isinstance(panel.view, Stat) and Colour.GOOD in panel.colours:
        assert set(figures.WORDS) <= set(panel.view.words)
        assert all("absent(edge_exporter_shard_info" in query.expr for query in panel.queries)


def test_alerts_and_findings_lead_to_pages_that_exist() -> None:
    """Each area of the shipped rules has its page."""
    areas = {alert.labels["area"] for alert in load_alerts()}
    assert areas == {name for names, _ in subject.AREAS for name in names.split("|")}
    assert {page for _, page in subject.AREAS} <= {page.uid for page in PAGES}


def test_the_table_of_alerts_says_what_their_own_words_say() -> None:
    """Every label that an alert's summary or description names is in the table, so that no two rows look the same."""
    texts = [file.read_text() for file in RULES.glob("*.yml")]
    named = {label for text in texts for label in re.findall(r"\$labels\.(\w+)", text)}
    assert named - {label for part in subject.PARTS for label in part.labels} == {"account", "job"}


@every_panel
def test_tables_are_sorted_by_one_of_their_columns(panel: Panel) -> None:
    if isinstance(panel.view, Table) and panel.view.columns:
        titles = [column.title for column in panel.view.columns]
        assert panel.view.sort in titles
        assert len(titles) == len(set(titles))


@every_panel
def test_titles_columns_and_headings_fit_on_a_screen_of_ordinary_width(panel: Panel) -> None:
    """A letter takes at most eight points, a panel's frame and information mark 40, the edges of a cell 32."""
    room = panel.width * 1432 / GRID
    assert len(panel.title) * 8 + 40 <= room
    if not isinstance(panel.view, Table):
        return
    shown = [column for column in panel.view.columns if not column.hidden]
    # A table scrolls up and down, but no column is out of sight.
    assert sum(column.width or 60 for column in shown) <= room - 10
    free = [column for column in shown if column.width is None]
    share = (room - 10 - sum(column.width or 0 for column in shown)) / max(1, len(free))
    assert [column.title for column in shown if len(column.title) * 8 + 32 > (column.width or share)] == []
