"""`demo`: runs a sandbox and a daemon that polls it; nothing has to be configured."""

from typing import Any

import click

from exporter.commands.local_platform import serve_demo
from exporter.commands.options import port_option

LEVELS = ("debug", "info", "warning", "error")


@click.command("demo")
@click.option(
    "--listen", default="127.0.0.1:9877", show_default=True, metavar="HOST:PORT", help="The exporter's address."
)
@port_option("--sandbox-port", default=9878, help="The sandbox's port on 127.0.0.1; 0 takes a free one.")
@click.option("--fast", is_flag=True, help="Let simulated time run 240 times as fast: a day in six minutes.")
@click.option("--seed", type=int, default=1, show_default=True, help="The seed of the simulated data.")
@click.option(
    "--log-level", type=click.Choice(LEVELS), default="warning", show_default=True, help="The lowest logged level."
)
def command(**given: Any) -> None:  # noqa: ANN401 - the options
    """Run the exporter with a simulated platform; nothing has to be configured.

    SIGTERM and SIGINT (Ctrl-C) end it within five seconds with exit code 0.
    """
    serve_demo(**given)
