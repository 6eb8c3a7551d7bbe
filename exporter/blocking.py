"""Runs calls that may block, such as reading a file, on threads other than the event loop's.

A call that hangs delays other calls on its executor, but not the event loop.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Creates an executor for one kind of calls. The argument names the kind; the names of the threads begin with this name.
Executors = Callable[[str], Executor]


def one_thread(kind: str) -> Executor:
    """Return an executor with one thread, which starts with the first call."""
    return ThreadPoolExecutor(1, thread_name_prefix=kind)


async def blocking(executor: Executor, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function on an executor; return the result of the function, or raise its exception.

    Raises:
        RuntimeError: no thread can be started now, or the executor was shut down.
    """
    return await asyncio.get_running_loop().run_in_executor(executor, partial(work, *args, **kwargs))
