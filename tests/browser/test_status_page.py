"""The status page in a real browser."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from exporter.collectors.collector import Outcome
from exporter.exposition.store import TARGET_UP
from exporter.metric import Family, Sample
from exporter.targets.selection import Selection
from exporter.web.server import WebServer
from tests.real_parts import find
from tests.waiting import PATIENCE
from tests.web.view_setup import SCANS, STATISTICS, ViewSetup, serving, view_setup, zone

TARGET = "/target/dns_zone/200?account=main"
# A browser belongs to the event loop on which it was started: all tests share both.
pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]


@dataclass
class Window:
    """An open page, with the errors and warnings of its console."""

    page: Page
    server: WebServer
    url: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    async def texts(self, selector: str) -> list[str]:
        """Return the visible text of every selected element."""
        return [" ".join(text.split()) for text in await self.page.locator(selector).all_inner_texts()]

    async def names(self) -> list[str]:
        """Return the names of the shown targets."""
        return await self.texts("#targets tbody th")

    async def focused(self) -> str:
        """Return the id of the focused element."""
        return str(await self.page.evaluate("document.activeElement.id"))

    async def until_found(self, words: str) -> None:
        """Wait until the page shows this number of targets."""
        await self.page.locator("#found", has_text=words).wait_for()

    async def barriers(self) -> list[tuple[str, str]]:
        """Return the accessibility faults that axe-core finds: the rule and the first element of each."""
        await self.page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text())
        found = await self.page.evaluate("axe.run()")
        assert len(found["passes"]) > 20
        return [(fault["id"], fault["nodes"][0]["html"]) for fault in found["violations"]]

    async def later(self, seconds: int) -> None:
        """Advance the time of the page's script; the window must have been opened with `is_clock_turned`."""
        await self.page.clock.run_for(seconds * 1000)


@asynccontextmanager
async def window(
    browser: Browser,
    setup: ViewSetup,
    path: str = "/",
    *,
    prefix: str = "/",
    is_clock_turned: bool = False,
    **context: Any,
) -> AsyncIterator[Window]:
    """Open the page in a window with its own cookies and storage; an error or warning in the console fails the test.

    Args:
        browser: it must belong to the event loop that runs.
        setup: what the page shows.
        path: what is opened, below the prefix.
        prefix: the route prefix.
        is_clock_turned: whether the page's time only moves when the test advances it.
        context: options of Playwright's `Browser.new_context`.
    """
    async with serving(setup.app(prefix), prefix) as server, await browser.new_context(**context) as own:
        page = await own.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        opened = Window(page, server, server.url + prefix.rstrip("/") + path)
        page.on("console", lambda message: opened.complaints.append(message.text))
        page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        page.on("dialog", lambda dialog: opened.complaints.append(dialog.message))
        page.on("request", lambda request: opened.requests.append(request.url))
        if is_clock_turned:
            await page.clock.install()
        await page.goto(opened.url)
        yield opened
    assert opened.complaints == []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        started = await playwright.chromium.launch(executable_path=find("chromium"), args=arguments)
        yield started
        await started.close()


def some(setup: ViewSetup) -> None:
    """Set up three zones: one with a chart, one that fails, one with a scan."""
    setup.succeed(zone(9, "prod-shop.example"), chart=[900 + day * 7 % 400 for day in range(31)], took=0.3)
    setup.turn(5)
    setup.succeed(zone(10, "dev-shop.example"), chart=[10] * 31, took=0.1)
    setup.succeed(zone(10, "dev-shop.example"), SCANS, took=0.2)
    setup.turn(5)
    served = Family(TARGET_UP, (Sample(("main", STATISTICS, "dns_zone/200", ""), 1.0),))
    outcome = Outcome(zone(200, "prod-api.example"), (served,))
    setup.store.publish(STATISTICS, outcome, duration=0.1)
    setup.fail(zone(200, "prod-api.example"), reason="rate_limited", message="the platform answered 429")


async def test_it_loads_its_own_files_and_nothing_from_elsewhere(browser: Browser) -> None:
    async with view_setup() as setup:
        some(setup)
        async with window(browser, setup) as seen:
            assert await seen.names() == [f"{name}.example" for name in ("prod-api", "prod-shop", *["dev-shop"] * 2)]
            assert await seen.page.evaluate("document.styleSheets[0].cssRules.length") > 50
            assert await seen.page.locator("#pause").count() == 1
            await seen.page.wait_for_load_state("networkidle")
        places = {urlsplit(url) for url in seen.requests}
    assert {place.netloc for place in places} == {urlsplit(seen.url).netloc}
    assert {place.path for place in places} == {"/", "/static/page.css", "/static/page.js", "/static/icon.svg"}


async def test_a_search_finds_among_ten_thousand_zones_while_one_types(browser: Browser) -> None:
    async with view_setup("main", "other") as setup:
        for number in range(10_000):
            setup.succeed(zone(number, f"zone-{number:05}.example"), chart=range(31), took=number / 1000)
            setup.succeed(zone(number, f"zone-{number:05}.example"), SCANS)
        async with window(browser, setup) as seen:
            assert await seen.texts("#found") == ["1 to 100 of 20,000 targets"]
            await seen.page.keyboard.press("Tab")
            await seen.page.locator("#search").press_sequentially("zone-0777")
            await seen.until_found("20 targets")
            assert await seen.names() == [f"zone-0777{digit}.example" for digit in range(10) for _ in range(2)]
            assert await seen.texts("#announcer") == ["20 targets"]
            assert await seen.focused() == "search"
            assert urlsplit(seen.page.url).query == "search=zone-0777"
            await seen.page.locator("#search").press_sequentially("7 no")
            await seen.until_found("No target matches.")
            await seen.page.locator("#search").fill("")
            await seen.until_found("1 to 100 of 20,000 targets")
            # A new page has no field for the only account; the window is shown again while the page is requested.
            setup.schedule.accounts = {"main": setup.schedule.accounts["main"]}
            asking = "search.value = 'zone-00001'; search.form.requestSubmit();"
            await seen.page.evaluate(f"{asking} document.dispatchEvent(new Event('visibilitychange'))")
            await seen.until_found("2 targets")


@pytest.mark.parametrize("path", ["/", "/explain", TARGET])
@pytest.mark.parametrize(("scheme", "ground"), [("light", "rgb(248, 248, 246)"), ("dark", "rgb(18, 20, 22)")])
async def test_it_is_light_or_dark_as_the_system_is_and_accessible(
    browser: Browser, scheme: str, ground: str, path: str
) -> None:
    async with view_setup("main", "other") as setup:
        some(setup)
        setup.faults = ("config.yml:3: wrong",)
        setup.schedule.accounts["main"].pace.demand = 20.0
        setup.schedule.stretch = 2.0
        async with window(browser, setup, path, color_scheme=scheme) as seen:
            assert await seen.page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == ground
            assert await seen.barriers() == []


async def test_it_can_be_walked_through_by_keyboard(browser: Browser) -> None:
    async with view_setup() as setup:
        some(setup)
        async with window(browser, setup) as seen:
            await seen.page.keyboard.press("Tab")
            await expect(seen.page.locator(".skip")).to_be_focused()
            await seen.page.keyboard.press("Enter")
            await seen.page.keyboard.press("Tab")
            assert await seen.focused() == "search"
            outline = "getComputedStyle(document.activeElement).outlineStyle"
            assert await seen.page.evaluate(outline) == "solid"
            reached = []
            for _ in range(20):
                await seen.page.keyboard.press("Tab")
                reached.append(await seen.focused())
        assert " ".join(name for name in reached if name).startswith(
            "collector state-all state-failing state-pending state-up"
        )


@pytest.mark.parametrize("path", ["/", "/explain", "/target/dns_zone/5"])
@pytest.mark.parametrize("width", [390, 1024, 1280, 1366, 1440, 1920])
async def test_a_window_of_usual_width_shows_every_table_whole(browser: Browser, path: str, width: int) -> None:
    async with view_setup("main", "database:orders") as setup:
        setup.registry.configure([Selection("main", "dns_zone", (zone(5), zone(6)))])
        setup.schedule.stretch = 2.4
        for name, demand in (("main", 123.0), ("database:orders", 0.5)):
            setup.schedule.accounts[name].pace.demand = demand
        for name in setup.schedule.plans:
            setup.schedule.durations[name] = 0.123
            setup.schedule.due[name] = setup.clock() + 59
            for number in range(100):
                setup.fail(zone(number, f"a-zone-with-a-name-{number}.example"), name, reason="connect_timeout")
        setup.up["main"] = False
        async with window(browser, setup, path, viewport={"width": width, "height": 900}) as seen:
            frames = "[document.documentElement, ...document.querySelectorAll('.frame')]"
            sizes = await seen.page.evaluate(f"{frames}.map(frame => [frame.scrollWidth, frame.clientWidth])")
    assert len(sizes) > 1
    assert [whole for whole, _ in sizes] == [shown for _, shown in sizes]


async def test_it_looks_again_by_itself_keeps_the_place_can_be_paused_and_reports_silence(browser: Browser) -> None:
    async with view_setup() as setup:
        some(setup)
        async with window(browser, setup, is_clock_turned=True) as seen:
            pause, verdict = seen.page.locator("#pause"), seen.page.locator(".verdict")
            await seen.page.locator("#state-up").focus()
            setup.fail(zone(9, "prod-shop.example"))
            await seen.later(6)
            await expect(verdict).to_have_text("2 of 4 targets fail.")
            assert (await seen.focused(), await seen.texts("#announcer")) == ("state-up", [""])
            await pause.click()
            await expect(pause).to_have_attribute("aria-pressed", "true")
            before = len(seen.requests)
            setup.fail(zone(10, "dev-shop.example"))
            await seen.later(60)
            assert len(seen.requests) == before
            await pause.click()
            await seen.later(6)
            await expect(verdict).to_have_text("3 of 4 targets fail.")
            await seen.server.stop()
            await seen.later(6)
            await seen.page.locator("#as-of.lost", has_text="Not updated: the exporter sends no page.").wait_for()
            seen.complaints.clear()


async def test_it_works_below_a_prefix(browser: Browser) -> None:
    async with view_setup() as setup:
        some(setup)
        async with window(browser, setup, prefix="/tools/edge") as seen:
            await seen.page.locator("#search").fill("dev")
            await seen.until_found("2 targets")
            assert urlsplit(seen.page.url).path == "/tools/edge/"
            links = await seen.page.locator("header nav a").all()
            answers = [await seen.page.request.get(await link.evaluate("link => link.href")) for link in links]
            assert [answer.status for answer in answers] == [200] * 5
