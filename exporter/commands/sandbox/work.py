"""`sandbox`: serves the local platform alone."""

import asyncio
import signal

import click

from exporter.commands.output.serving import ListenError, serve
from exporter.log import configure
from exporter.sandbox import keys
from exporter.sandbox.app import create_app
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.server import SandboxServer
from exporter.sandbox.world import World

FAST = 240.0


def serve_sandbox(host: str, port: int, *, fast: bool, seed: int, zones: int, scripts: int, shield_zones: int) -> None:
    """Serve the local platform until SIGTERM or SIGINT."""
    configure("warning", "auto")
    clock = WorldClock(speed=FAST if fast else 1.0)
    serve(run_sandbox(World(seed, clock, zones, scripts, shield_zones), host, port))


async def run_sandbox(world: World, host: str, port: int) -> None:
    """Serve a world until SIGTERM or SIGINT.

    Raises:
        ListenError: the address cannot be used.
    """
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    server = SandboxServer(create_app(world), host, port)
    try:
        await server.start()
    except OSError as error:
        shown = f"[{host}]" if ":" in host else host
        raise ListenError(f"{shown}:{port}", error, "--port or --host") from error
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
