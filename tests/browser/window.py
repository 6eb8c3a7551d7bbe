"""A browser window that shows the status page of a view from a real server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from playwright.async_api import Browser, Page

from exporter.web.server import WebServer
from tests.waiting import PATIENCE
from tests.web.view_setup import ViewSetup, serving


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
        is_clock_turned: whether the page's time stands still until the test turns it.
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
