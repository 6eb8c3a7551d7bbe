"""`demo`: runs a sandbox and the daemon on it, with nothing to configure."""

from contextlib import AsyncExitStack
from typing import get_args

import click

from exporter.collectors.catalogue import CATALOGUE
from exporter.commands import prometheus
from exporter.commands.output.help import Command
from exporter.commands.output.printing import complain
from exporter.commands.output.serving import listening, serve
from exporter.commands.sandbox import FAST
from exporter.daemon.daemon import Daemon
from exporter.log import Level, configure
from exporter.sandbox import keys
from exporter.sandbox.app import create_app
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.server import SandboxServer
from exporter.sandbox.world import World
from exporter.settings.model import Settings
from exporter.validation.types import parse_listen

HOST = "127.0.0.1"
# Targets are polled sixty times as often as by default, so that changes show soon.
SPEED_UP = 60
SHORTEST_INTERVAL = 5.0
QUERY = "SELECT region, count(*) AS value FROM orders WHERE shipped IS NULL GROUP BY region"


def demo_settings(world: World, url: str, listen: str, log_level: Level = "warning") -> Settings:
    """Return settings that poll everything in a world."""
    return Settings.model_validate(
        {
            "accounts": [
                {
                    "name": "demo",
                    "base_url": url,
                    "api_key": keys.API_KEY,
                    "budget": {"requests_per_second": 50, "max_in_flight": 16},
                    "scripts": {"monthly_budget_dollars": _budgets(world)},
                    "rate_limits": [
                        {"id": limit_id, "name": name, "shield_zone_id": zone_id}
                        for limit_id, name, zone_id in world.rate_limit_ids()
                    ],
                    "access_lists": [
                        {"shield_zone_id": zone_id, "id": list_id} for zone_id, list_id in world.access_list_ids()
                    ],
                    "waf_custom_rules": [{"id": rule_id} for rule_id in world.custom_rule_ids()],
                    "images": [
                        {"registry_id": registry, "namespace": namespace, "name": name, "watch_tags": tags[:2]}
                        for registry, namespace, name, tags in world.images()
                    ],
                    "searches": world.search_terms(),
                }
            ],
            "databases": [
                {
                    "name": "orders",
                    "url": url,
                    "auth_token": keys.DATABASE_TOKEN_READ_ONLY,
                    "queries": [
                        {
                            "name": "orders_open",
                            "help": "Orders not yet shipped.",
                            "sql": QUERY,
                            "value": "value",
                            "labels": ["region"],
                            "interval": "10s",
                        }
                    ],
                }
            ],
            "collectors": {
                collector.section: {"interval": max(SHORTEST_INTERVAL, collector.interval / SPEED_UP)}
                for collector in CATALOGUE
            },
            "web": {"listen": listen},
            "state": {"path": None},
            "log": {"level": log_level},
        }
    )


def _budgets(world: World) -> dict[str, float]:
    scripts = world.scripts.scripts
    return {scripts.name(script_id): 500.0 for script_id in scripts}


@click.command("demo", cls=Command)
@click.option(
    "--listen",
    default="127.0.0.1:9877",
    show_default=True,
    metavar="HOST:PORT",
    help="The exporter's address.",
)
@click.option(
    "--sandbox-port",
    type=click.IntRange(0, 65_535),
    default=9878,
    show_default=True,
    help="The sandbox's port on 127.0.0.1; 0 takes a free one.",
)
@click.option(
    "--prometheus",
    "with_prometheus",
    is_flag=True,
    help="Run an installed Prometheus with the shipped rules on it, so that alerts can be seen firing.",
)
@click.option(
    "--prometheus-port",
    type=click.IntRange(0, 65_535),
    default=9090,
    show_default=True,
    help="With --prometheus: its port on 127.0.0.1; 0 takes a free one.",
)
@click.option("--fast", is_flag=True, help="Let simulated time run 240 times as fast: a day in six minutes.")
@click.option("--seed", type=int, default=1, show_default=True, help="The state of the simulated account.")
@click.option(
    "--log-level",
    type=click.Choice(get_args(Level)),
    default="warning",
    show_default=True,
    help="The lowest logged level.",
)
def command(
    listen: str,
    sandbox_port: int,
    prometheus_port: int,
    seed: int,
    log_level: Level,
    *,
    with_prometheus: bool,
    fast: bool,
) -> None:
    """Run the exporter on a local platform, with nothing to configure.

    SIGTERM and SIGINT (Ctrl-C) end it within five seconds with exit code 0.
    """
    try:
        address = str(parse_listen(listen))
    except ValueError as error:
        raise click.BadParameter(f"found {listen!r}, {error}", param_hint="'--listen'") from None
    configure(log_level, "auto")
    world = World(seed, WorldClock(speed=FAST if fast else 1.0), healthy=True)
    try:
        serve(_run(world, address, sandbox_port, prometheus_port if with_prometheus else None, log_level))
    except prometheus.PrometheusError as error:
        complain(str(error))


async def _run(world: World, listen: str, sandbox_port: int, prometheus_port: int | None, log_level: Level) -> None:
    sandbox = SandboxServer(create_app(world), host=HOST, port=sandbox_port)
    with listening(f"{HOST}:{sandbox_port}", "--sandbox-port"):
        await sandbox.start()
    settings = demo_settings(world, sandbox.url, listen, log_level)
    daemon = Daemon(settings, lambda: settings)
    async with AsyncExitStack() as beside:
        beside.push_async_callback(sandbox.stop)
        watcher = None
        if prometheus_port is not None:
            watcher = await beside.enter_async_context(prometheus.running(prometheus_port))

        def started() -> None:
            if watcher is not None:
                watcher.scrape(daemon.server.url.removeprefix("http://"))
            _print_urls(daemon.server.url, sandbox.url, watcher.url if watcher is not None else "", world)

        with listening(listen, "--listen"):
            await daemon.run(started)


def _print_urls(exporter: str, sandbox: str, watcher: str, world: World) -> None:
    text = f"\n  metrics      {exporter}/metrics\n  status page  {exporter}/\n  sandbox      {sandbox}\n"
    text += f"  control      {sandbox}/sandbox\n"
    if watcher:
        zone = world.dns.zones.slice(0, 1)[0]
        text += (
            f"  prometheus   {watcher}\n"
            "\n  A record scan fails, and within two minutes EdgeDnsScanFailed fires:"
            f'\n    curl -d \'{{"event": "scan_failed", "zone_id": {zone}}}\' {sandbox}/sandbox/world'
            f"\n    curl {watcher}/api/v1/alerts"
            "\n  After the event scan_released the alert still fires for 45 minutes (keep_firing_for in its rule)."
            f"\n  {sandbox}/sandbox/world lists the other events.\n"
        )
    click.echo(f"{text}\n  Stop with Ctrl-C.\n")
