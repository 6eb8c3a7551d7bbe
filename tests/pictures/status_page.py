"""Draws the status page of a demo with failing targets, light and dark."""

from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser

from tests.demo.running_demo import demo_running
from tests.waiting import wait_until

SCHEMES: tuple[tuple[Literal["light", "dark"], str], ...] = (("light", "status-page"), ("dark", "status-page-dark"))


def draw_status_page(browser: Browser, folder: Path) -> None:
    """Draw the page with the zones' charts in view."""
    with demo_running() as demo:
        demo.sandbox.post("/sandbox/faults", kind="status", status=500, path="/dnszone/104/statistics")
        wait_until(lambda: "server_error" in demo.get("/").text, "a poll that fails")
        for scheme, name in SCHEMES:
            window = browser.new_page(viewport={"width": 1280, "height": 1130}, color_scheme=scheme)
            window.goto(f"{demo.url}/?collector=dns_statistics")
            window.wait_for_load_state("networkidle")
            window.screenshot(path=folder / f"{name}.png")
            window.close()
