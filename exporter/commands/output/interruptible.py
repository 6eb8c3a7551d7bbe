"""Runs a coroutine that Ctrl-C may end at any time."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run to the end.

    `asyncio.run` cancels in the signal's handler, between any two instructions, and asyncio's own callbacks then report
    futures that were cancelled while they used them. Here, the event loop cancels.

    Raises:
        KeyboardInterrupt: Ctrl-C ended it.
    """

    async def interruptible() -> T:
        task = asyncio.ensure_future(coroutine)
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
        return await task

    try:
        return asyncio.run(interruptible())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
