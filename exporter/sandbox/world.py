"""The simulated account."""

from typing import Final

from exporter.sandbox.databases import Database
from exporter.sandbox.dns_zones import DnsZones
from exporter.sandbox.edge_scripts import Scripts
from exporter.sandbox.images import Images
from exporter.sandbox.keys import DatabaseTokens, sandbox_keys
from exporter.sandbox.noise import Noise
from exporter.sandbox.protection import AccessLists, custom_rules
from exporter.sandbox.rate_limits import RateLimits
from exporter.sandbox.record_scans import RecordScans
from exporter.sandbox.resource_ids import ResourceIds
from exporter.sandbox.seed import seed
from exporter.sandbox.shield_zone_list import ShieldZones
from exporter.sandbox.world_clock import WorldClock

DATABASES: Final = ("orders", "billing")


class World:
    """One account of the platform with its resources; their values depend on the seed, the clock and events.

    Args:
        clock: the world's clock; None means one that begins now, at normal speed.
        dns_zones, scripts, shield_zones: the numbers of these resources at the beginning.
        healthy: whether to avoid values that make alerts fire. Events can still cause such values.
    """

    def __init__(
        self,
        seed: int = 1,
        clock: WorldClock | None = None,
        dns_zones: int = 12,
        scripts: int = 4,
        shield_zones: int = 3,
        *,
        healthy: bool = False,
    ) -> None:
        noise = Noise(seed)
        self.seed = seed
        self.clock = WorldClock() if clock is None else clock
        self.began_at = self.clock.now()
        self.keys = sandbox_keys()
        self.dns = DnsZones(noise.branch("dns"), self.clock, dns_zones)
        self.scans = RecordScans(noise.branch("scans"), self.clock, self.dns.zones, healthy=healthy)
        self.scripts = Scripts(noise.branch("scripts"), self.clock, scripts)
        self.shield = ShieldZones(self.clock, shield_zones, healthy=healthy)
        self.rate_limits = RateLimits(noise.branch("rate limits"), self.clock, shield_zones, healthy=healthy)
        self.access_lists = AccessLists(noise.branch("access lists"), self.clock, shield_zones, healthy=healthy)
        self.custom_rules = custom_rules(shield_zones)
        self.images = Images(self.clock)
        self.tokens = DatabaseTokens()
        self.databases = {name: Database(noise.branch(name), self.clock) for name in DATABASES}
        self.error_trace_id = noise.branch("traces").guid()
        # Kind → the ids and names that the global search finds.
        self.searchable = {
            "dns": self.dns.zones,
            "script": self.scripts.scripts,
            "cdn": self.shield.pull_zones,
            **_ids_only_in_search(),
        }

    def close(self) -> None:
        """Close the databases."""
        for database in self.databases.values():
            database.close()


def _ids_only_in_search() -> dict[str, ResourceIds]:
    return {kind: ResourceIds(first, len(names), names) for kind, first, names in seed("found")}
