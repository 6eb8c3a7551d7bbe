import re
from pathlib import Path

import pytest

from tests.dashboards.expressions import selected
from tests.dashboards.families import SCRAPE_LABELS, family_of, known_families, reasons
from tests.rules.rule_files import RUNBOOKS, Rule, load_alerts, load_recordings

ALERTS = load_alerts()
PAGES = sorted(path for path in RUNBOOKS.glob("*.md") if path.name != "README.md")
BY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)


def queries(page: Path) -> list[str]:
    """Return the queries of a page."""
    return re.findall(r"```promql\n(.*?)```", page.read_text(), re.DOTALL)


def test_there_is_a_page_an_alert_and_no_other() -> None:
    assert [page.stem for page in PAGES] == sorted({alert.name for alert in ALERTS})


@BY_PAGE
def test_a_page_says_what_it_means_how_to_confirm_and_what_to_do(page: Path) -> None:
    headings = re.findall(r"^#+ .*$", page.read_text(), re.MULTILINE)
    assert headings == [f"# {page.stem}", "## What it means", "## How to confirm", "## What to do"]
    sections = re.split(r"^## .*$", page.read_text(), flags=re.MULTILINE)[1:]
    assert all(section.strip() for section in sections)
    assert queries(page)
    assert re.search(r"^1\. ", sections[2], re.MULTILINE)


@BY_PAGE
def test_a_page_names_what_exists_only(page: Path) -> None:
    families = known_families()
    recorded = {recording.name for recording in load_recordings()}
    for query in queries(page):
        for part in selected(query):
            if part.name not in recorded:
                assert part.labels <= families[family_of(part.name)].labels | SCRAPE_LABELS, part.name
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    chosen = {word for words in re.findall(r'reason=~?"([^"]+)"', page.read_text()) for word in words.split("|")}
    assert chosen <= reasons()
    # The families of users' queries have other names.
    named = set(re.findall(r"`(edge_[a-z_]+)`", prose))
    assert named <= set(families)


@pytest.mark.parametrize("page", [*PAGES, RUNBOOKS / "README.md"], ids=lambda path: path.stem)
def test_a_page_links_what_exists(page: Path) -> None:
    links = re.findall(r"\]\(([^)]+)\)", page.read_text())
    assert [link for link in links if not (RUNBOOKS / link.partition("#")[0]).exists()] == []


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_the_index_has_the_alert_with_its_severities(alert: Rule) -> None:
    severities = ", ".join(other.labels["severity"] for other in ALERTS if other.name == alert.name)
    row = f"| [{alert.name}]({alert.name}.md) | {severities} |"
    assert (RUNBOOKS / "README.md").read_text().count(row) == 1


def test_the_page_of_a_failing_target_has_every_reason_once() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| .+ \| .+ \|$", (RUNBOOKS / "EdgeTargetFailing.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(reasons())


@pytest.mark.parametrize("name", ["EdgeAccountDown", "EdgeCollectorFailing", "EdgeDatabaseDown"])
def test_a_page_that_goes_by_reasons_names_none_that_is_not_and_says_where_the_others_are(name: str) -> None:
    text = (RUNBOOKS / f"{name}.md").read_text()
    steps = re.findall(r"^\d\. ((?:`[a-z_]+`(?:, | or )?)+)(?::| )", text, re.MULTILINE)
    named = {word for step in steps for word in re.findall(r"`([a-z_]+)`", step)}
    assert named
    assert named - reasons() == set()
    assert "(EdgeTargetFailing.md) lists all reasons" in text
