"""`sandbox`: serves the local platform alone."""

import asyncio
import signal

import click

from exporter.commands.output.help import Command
from exporter.commands.output.serving import listening, serve
from exporter.log import configure
from exporter.sandbox import keys
from exporter.sandbox.app import create_app
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.server import SandboxServer
from exporter.sandbox.world import World

FAST = 240.0
COUNT = click.IntRange(0, 200_000)


@click.command("sandbox", cls=Command)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=9878,
    show_default=True,
    help="The port to listen on; 0 takes a free one.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--fast", is_flag=True, help="Let simulated time run 240 times as fast: a day in six minutes.")
@click.option("--seed", type=int, default=1, show_default=True, help="The state of the simulated account.")
@click.option("--zones", type=COUNT, default=12, show_default=True, help="How many DNS zones there are.")
@click.option("--scripts", type=COUNT, default=4, show_default=True, help="How many edge scripts there are.")
@click.option("--shield-zones", type=COUNT, default=3, show_default=True, help="How many shield zones there are.")
def command(*, host: str, port: int, fast: bool, seed: int, zones: int, scripts: int, shield_zones: int) -> None:
    """Serve the local platform alone: every operation of the interface, a moving world, faults on demand.

    SIGTERM and SIGINT (Ctrl-C) end it within a second with exit code 0.
    """
    configure("warning", "auto")
    world = World(seed, WorldClock(speed=FAST if fast else 1.0), zones, scripts, shield_zones)
    serve(_run(world, host, port))


async def _run(world: World, host: str, port: int) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    server = SandboxServer(create_app(world), host, port)
    with listening(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", "--port or --host"):
        await server.start()
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
