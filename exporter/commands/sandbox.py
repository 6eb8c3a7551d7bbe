"""`sandbox`: serves the simulated platform without an exporter."""

import asyncio
import signal

import click

from exporter.commands.options import port_option
from exporter.commands.output.serving import listening, serve
from exporter.log import configure
from exporter.sandbox import keys
from exporter.sandbox.sandbox_server import SandboxServer, create_app
from exporter.sandbox.world import World
from exporter.sandbox.world_clock import WorldClock

COUNT = click.IntRange(0, 200_000)
FAST = 240.0
fast_option = click.option(
    "--fast", is_flag=True, help="Let simulated time run 240 times as fast: a day in six minutes."
)
seed_option = click.option("--seed", type=int, default=1, show_default=True, help="The seed of the simulated data.")


@click.command("sandbox")
@port_option("--port", default=9878, help="The port to listen on; 0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@fast_option
@seed_option
@click.option("--zones", type=COUNT, default=12, show_default=True, help="How many DNS zones there are.")
@click.option("--scripts", type=COUNT, default=4, show_default=True, help="How many edge scripts there are.")
@click.option("--shield-zones", type=COUNT, default=3, show_default=True, help="How many shield zones there are.")
def command(host: str, port: int, *, fast: bool, seed: int, zones: int, scripts: int, shield_zones: int) -> None:
    """Serve the simulated platform without an exporter: operations, values that change, faults on demand.

    SIGTERM and SIGINT (Ctrl-C) end the command within a second with exit code 0.
    """
    configure("warning", "auto")
    serve(_run(World(seed, WorldClock(speed=FAST if fast else 1.0), zones, scripts, shield_zones), host, port))


async def _run(world: World, host: str, port: int) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    server = SandboxServer(create_app(world), host, port)
    with listening("--port or --host"):
        server.start()
    click.echo(_introduction(server.url))
    await ended.wait()
    await server.stop()


def _introduction(url: str) -> str:
    return f"""
  sandbox      {url}
  API key      {keys.API_KEY} (AccessKey header), or the bearer token {keys.BEARER_TOKEN}
  database     {url} with the token {keys.DATABASE_TOKEN_READ_ONLY}
               or, to write, {keys.DATABASE_TOKEN_FULL}
  description  {url}/openapi.json
  control      {url}/sandbox: events, faults, the clock, each with a line to try

  Try it: EDGE_EXPORTER_BASE_URL={url} EDGE_EXPORTER_API_KEY={keys.API_KEY} edge-exporter check

  Stop with Ctrl-C.
"""
