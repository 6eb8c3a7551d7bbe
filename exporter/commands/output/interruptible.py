"""Runs a coroutine that Ctrl-C may end at any time."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; Ctrl-C cancels it, and raises KeyboardInterrupt.

    `asyncio.run` would cancel it inside the signal's handler, which may interrupt asyncio itself; asyncio then reports
    errors. Here, the event loop cancels it.
    """

    async def interruptible() -> T:
        task = asyncio.ensure_future(coroutine)
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
        return await task

    try:
        return asyncio.run(interruptible())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
