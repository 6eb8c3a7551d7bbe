"""Draws every dashboard with Grafana's own components, and the status page: `python -m tests.pictures FOLDER [UID …]`.

Each dashboard is drawn in an hour with some trouble. With the uids of some dashboards, only these are drawn.

No Grafana runs: a page's JSON is laid out here, its queries run on a real Prometheus with a month of a simulated
platform, and `grafana/` puts the answers into the published components of Grafana's own panels, in Chromium.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import click
from playwright.sync_api import Browser, Error, FloatRect, Route, sync_playwright

from dashboards.generator.all_pages import PAGES
from dashboards.generator.page import Page, Panel
from tests.dashboards.expressions import seconds
from tests.dashboards.incidents import usual_trouble
from tests.dashboards.scene import END
from tests.dashboards.test_dashboards import drawn
from tests.dashboards.test_on_prometheus import Month, month_served, uses_of
from tests.dashboards.uses import Kind, Use
from tests.demo.running_demo import demo_running
from tests.real_parts import find
from tests.waiting import PATIENCE, wait_until

SOURCES = Path(__file__).parent / "grafana"
# A screen of ordinary width; the title and the page's description are above Grafana's grid.
WIDTH, HEAD, CELL_HEIGHT = 1440, 64, 38
# Nothing is downloaded: requests of the page are answered from the components' files.
ORIGIN = "http://dashboards.invalid/"
BUNDLE = (
    "--bundle",
    "--outfile=page.js",
    "--log-level=error",
    *(f"--loader:.{kind}=dataurl" for kind in ("svg", "ttf", "woff2")),
    '--define:process.env.NODE_ENV="production"',
    "--define:global=window",
    "--alias:react-custom-scrollbars-2=./scrollbars.js",
)
HTML = (
    "<!doctype html><meta charset=utf-8><link rel=stylesheet href=page.css><style>"
    "body{background:#111217;margin:0}h1{font-size:20px;height:64px;margin:0;padding:9px 10px;box-sizing:border-box}"
    "h1 small{display:block;font-size:13px;font-weight:400;opacity:.75}h2{font-size:16px;margin:0;padding:10px 4px}"
    ".empty{display:flex;align-items:center;justify-content:center;text-align:center;opacity:.75}"
    "</style><div id=page></div><script src=page.js></script>"
)


def bundled(parts: Path) -> Path:
    """Install Grafana's components next to the sources if they are missing, and bundle both."""
    shutil.copytree(SOURCES, parts, dirs_exist_ok=True)
    install = ("install", "--no-package-lock", "--no-audit", "--no-fund", "--silent", "--ignore-scripts")
    subprocess.run(["npm", *install], cwd=parts, check=True)
    subprocess.run([parts / "node_modules" / ".bin" / "esbuild", "page.jsx", *BUNDLE], cwd=parts, check=True)
    return parts


def shown(since: str) -> int:
    """Return the seconds of a page's or a panel's time range."""
    return int(seconds(since.removeprefix("now-")))


def asked(month: Month, use: Use, span: int) -> tuple[int, list[dict[str, Any]]]:
    """Return the step of a query (its own, or the smallest that a screen can show), and its series."""
    step = max(int(seconds(use.query.step)), span // 800 // 60 * 60)
    return step, month.ask(use, END, span, step)


def answers(month: Month, page: Page, panel: Panel, span: int) -> Iterator[dict[str, Any]]:
    """Yield the results of a panel's queries, named by its legends."""
    for letter, use, query in zip(ascii_uppercase, uses_of(page.uid, panel.title), panel.queries, strict=False):
        step, found = asked(month, use, span)
        series = [
            {
                "labels": {name: text for name, text in one["metric"].items() if name != "__name__"},
                "name": named(query.legend, one["metric"]),
                "points": [one["value"]] if "value" in one else one["values"],
            }
            for one in found
        ]
        yield {"refId": letter, "step": step, "series": series}


def named(legend: str, labels: dict[str, str]) -> str:
    if not legend:
        return ", ".join(f"{label}={text}" for label, text in sorted(labels.items()))
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), legend)


def laid_out(month: Month, page: Page) -> dict[str, Any]:
    declared = {panel.title: panel for panel in page.panels}
    # A folded row keeps its panels inside; the picture shows it open.
    panels: list[dict[str, Any]] = [{"panel": placed} for placed in drawn(page, headings=True)]
    for entry in panels:
        if entry["panel"]["type"] != "row":
            panel = declared[entry["panel"]["title"]]
            until, span = END.timestamp(), shown(panel.view.since or page.since)
            found = list(answers(month, page, panel, span))
            entry |= {"answers": found, "range": [1000 * (until - span), 1000 * until]}
    marks = [
        {"when": one["values"][0][0], "colour": mark.colour}
        for mark in page.annotations
        for use in uses_of(page.uid, mark.name, Kind.ANNOTATION)
        for one in asked(month, use, shown(page.since))[1]
    ]
    cell = {"width": (WIDTH - 8) / 24, "height": CELL_HEIGHT}
    return {"title": page.title, "about": page.about, "cell": cell, "panels": panels, "marks": marks}


def served(parts: Path, route: Route) -> None:
    """Answer a request of a page from the components' files."""
    path = route.request.url.removeprefix(ORIGIN)
    if not path:
        route.fulfill(body=HTML, content_type="text/html")
    elif (parts / path).is_file():
        route.fulfill(path=parts / path)
    else:
        route.abort()


@dataclass(frozen=True, slots=True)
class Painter:
    """Draws pages in a browser, with Grafana's bundled components, into a folder."""

    browser: Browser
    parts: Path
    folder: Path

    def draw(self, month: Month, page: Page, name: str) -> None:
        """Draw a whole page, and its first two rows.

        Raises:
            RuntimeError: a script of the page failed.
        """
        laid, errors = laid_out(month, page), list[Error]()
        places = [entry["panel"]["gridPos"] for entry in laid["panels"]]
        height = max(place["y"] + place["h"] for place in places)
        rows = [entry["panel"]["gridPos"]["y"] for entry in laid["panels"] if entry["panel"]["type"] == "row"]
        window = self.browser.new_page(viewport={"width": WIDTH, "height": HEAD + height * CELL_HEIGHT + 8})
        window.set_default_timeout(1000 * PATIENCE)
        window.on("pageerror", lambda error: errors.append(error))  # noqa: PLW0108 - its signature is read
        window.route("**/*", lambda route: served(self.parts, route))
        # Ages are counted from now, which is the moment of the picture.
        window.clock.set_fixed_time(END)
        window.goto(ORIGIN)
        window.evaluate("page => draw(page)", laid)
        window.wait_for_timeout(1500)
        for suffix, lowest in (("", height), ("-top", [*rows, height][2])):
            clip: FloatRect = {"x": 0, "y": 0, "width": WIDTH, "height": HEAD + lowest * CELL_HEIGHT + 8}
            window.screenshot(path=self.folder / f"{name}{suffix}.png", clip=clip)
        window.close()
        if errors:
            raise RuntimeError(f"{page.title} did not draw: {errors[0]}")

    def draw_status_page(self) -> None:
        """Draw the status page of a demo with a failing target."""
        with demo_running() as demo:
            demo.sandbox.post("/sandbox/faults", kind="status", status=500, path="/dnszone/104/statistics")
            wait_until(lambda: "server_error" in demo.get("/api/v1/status").text, "a poll that fails")
            window = self.browser.new_page(viewport={"width": 1440, "height": 1180})
            window.goto(f"{demo.url}/?collector=dns_statistics")
            window.wait_for_load_state("networkidle")
            window.screenshot(path=self.folder / "status-page.png")
            window.close()


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(path_type=Path), default="pictures")
@click.argument("uids", nargs=-1, metavar="[UID]...")
def main(folder: Path, uids: tuple[str, ...]) -> None:
    """Draw the pictures that the command line selects."""
    folder = folder.resolve()
    parts = bundled(folder / ".parts")
    options = ["--no-sandbox", "--disable-gpu"]
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=find("chromium"), args=options) as browser,
    ):
        painter = Painter(browser, parts, folder)
        with tempfile.TemporaryDirectory() as home, month_served(Path(home), usual_trouble()) as month:
            for page in PAGES:
                if page.uid in uids or not uids:
                    painter.draw(month, page, f"dashboard-{page.uid.removeprefix('edge-')}")
        if not uids:
            painter.draw_status_page()


if __name__ == "__main__":
    main()
