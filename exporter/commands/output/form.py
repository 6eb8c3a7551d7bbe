"""How a command writes what it found: as text for people, or as JSON for programs."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

C = TypeVar("C", bound=Callable[..., Any])


def form_option(function: C) -> C:
    """Give a command `-o`, whose value is its parameter `form`."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="How it is written.",
    )(function)
