"""The option of the output format: text for people, or JSON for programs."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

C = TypeVar("C", bound=Callable[..., Any])


def form_option(function: C) -> C:
    """Add `-o` to a command; its value is the parameter `form`."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="The output format.",
    )(function)
