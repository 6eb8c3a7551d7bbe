"""`demo`: runs a sandbox, and a daemon that polls the sandbox; nothing has to be configured."""

import click

from exporter.collectors.catalogue import CATALOGUE
from exporter.commands.options import port_option
from exporter.commands.output.serving import listening, serve
from exporter.commands.sandbox import FAST, fast_option, seed_option
from exporter.daemon.daemon import run
from exporter.log import Level, configure
from exporter.sandbox import keys
from exporter.sandbox.sandbox_server import SandboxServer, create_app
from exporter.sandbox.seed import seed as constant_data
from exporter.sandbox.world import World
from exporter.sandbox.world_clock import WorldClock
from exporter.settings.model import Settings
from exporter.validation.types import parse_listen

LEVELS = ("debug", "info", "warning", "error")
# The collectors' default intervals are divided by this number, so that changes of the simulated data are seen soon.
SPEED_UP = 60
SHORTEST_INTERVAL = 5.0  # seconds
QUERY = {
    "name": "orders_open",
    "help": "Orders not yet shipped.",
    "sql": "SELECT region, count(*) AS value FROM orders WHERE shipped IS NULL GROUP BY region",
    "labels": ["region"],
    "interval": "10s",
}


@click.command("demo")
@click.option(
    "--listen", default="127.0.0.1:9877", show_default=True, metavar="HOST:PORT", help="The exporter's address."
)
@port_option("--sandbox-port", default=9878, help="The sandbox's port on 127.0.0.1; 0 takes a free one.")
@fast_option
@seed_option
@click.option(
    "--log-level", type=click.Choice(LEVELS), default="warning", show_default=True, help="The lowest logged level."
)
def command(*, listen: str, sandbox_port: int, fast: bool, seed: int, log_level: Level) -> None:
    """Run the exporter with a simulated platform; nothing has to be configured.

    SIGTERM and SIGINT (Ctrl-C) end the command within five seconds with exit code 0.
    """
    try:
        address = str(parse_listen(listen))
    except ValueError as error:
        raise click.BadParameter(f"found {listen!r}, {error}", param_hint="'--listen'") from None
    configure(log_level, "auto")
    world = World(seed, WorldClock(speed=FAST if fast else 1.0), healthy=True)
    serve(_run(world, address, sandbox_port, log_level))


async def _run(world: World, listen: str, sandbox_port: int, log_level: Level) -> None:
    sandbox = SandboxServer(create_app(world), host="127.0.0.1", port=sandbox_port)
    with listening("--sandbox-port"):
        sandbox.start()
    settings = demo_settings(world, sandbox.url, listen, log_level)
    try:
        with listening("--listen"):
            await run(settings, lambda: settings, lambda daemon: _print_urls(daemon.server.url, sandbox.url))
    finally:
        await sandbox.stop()


def _print_urls(exporter_url: str, sandbox_url: str) -> None:
    click.echo(f"""
  metrics      {exporter_url}/metrics
  status page  {exporter_url}/
  sandbox      {sandbox_url}
  control      {sandbox_url}/sandbox

  Stop with Ctrl-C.
""")


def named_resources(world: World) -> dict[str, object]:
    """Return settings of an account that name resources of a world: the rate limits, and what discovery cannot find."""
    return {
        "rate_limits": [
            {"id": limit_id, "name": limit.name, "shield_zone_id": limit.shield_zone_id}
            for limit_id, limit in world.rate_limits.limits.items()
        ],
        "access_lists": [
            {"shield_zone_id": one.shield_zone_id, "id": one.list_id} for one in world.access_lists.lists.values()
        ],
        "waf_custom_rules": [{"id": rule_id} for rule_id in world.custom_rules],
        "images": [
            {"registry_id": registry, "namespace": namespace, "name": name, "watch_tags": tags[:2]}
            for registry, namespace, name, tags in world.images.all()
        ],
        "searches": constant_data("search_terms"),
    }


def demo_settings(world: World, url: str, listen: str, log_level: Level) -> Settings:
    """Return the settings of an exporter that polls the sandbox at `url`; `world` is the data of the sandbox."""
    scripts = world.scripts.scripts
    account = {
        "name": "demo",
        "base_url": url,
        "api_key": keys.API_KEY,
        "budget": {"requests_per_second": 50, "max_in_flight": 16},
        "scripts": {"monthly_budget_dollars": {scripts.name(script): 500.0 for script in scripts}},
        "labels": {"team": "web"},
        "target_labels": [{"match": "shop", "labels": {"team": "shop"}}],
        **named_resources(world),
    }
    token = keys.DATABASE_TOKEN_READ_ONLY
    return Settings.model_validate(
        {
            "accounts": [account],
            "databases": [{"name": "orders", "url": url, "auth_token": token, "queries": [QUERY]}],
            "collectors": {
                collector.section: {"interval": max(SHORTEST_INTERVAL, collector.interval / SPEED_UP)}
                for collector in CATALOGUE
            },
            "thresholds": [{"alert": "EdgeDnsQueriesSurge", "match": "shop", "value": 5}],
            "web": {"listen": listen},
            "state": {"path": None},
            "log": {"level": log_level},
        }
    )
