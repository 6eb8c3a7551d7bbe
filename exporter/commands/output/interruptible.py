"""Runs what Ctrl-C may end at any time."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run to the end.

    `asyncio.run` cancels from within the signal's handler, between any two instructions, and asyncio's own callbacks
    then complain of futures that are cancelled under their hands. Here the loop cancels, when it comes to it.

    Raises:
        KeyboardInterrupt: it was interrupted.
    """

    async def interruptible() -> T:
        task = asyncio.ensure_future(coroutine)
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
        return await task

    try:
        return asyncio.run(interruptible())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
