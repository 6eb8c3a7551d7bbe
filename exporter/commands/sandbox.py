"""`sandbox`: serves the simulated platform alone."""

from typing import Any

import click

from exporter.commands.local_platform import serve_sandbox
from exporter.commands.options import port_option

COUNT = click.IntRange(0, 200_000)


@click.command("sandbox")
@port_option("--port", default=9878, help="The port to listen on; 0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--fast", is_flag=True, help="Let simulated time run 240 times as fast: a day in six minutes.")
@click.option("--seed", type=int, default=1, show_default=True, help="The seed of the simulated data.")
@click.option("--zones", type=COUNT, default=12, show_default=True, help="How many DNS zones there are.")
@click.option("--scripts", type=COUNT, default=4, show_default=True, help="How many edge scripts there are.")
@click.option("--shield-zones", type=COUNT, default=3, show_default=True, help="How many shield zones there are.")
def command(**given: Any) -> None:  # noqa: ANN401 - the options
    """Serve the simulated platform alone: every operation of the interface, changing values, faults on demand.

    SIGTERM and SIGINT (Ctrl-C) end it within a second with exit code 0.
    """
    serve_sandbox(**given)
