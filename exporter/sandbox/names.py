"""Realistic names for any number of resources."""

from typing import Final

_ZONES: Final = (
    "prod-shop",
    "prod-api",
    "staging-shop",
    "prod-blog",
    "dev-api",
    "prod-login",
    "prod-media",
    "staging-api",
    "prod-docs",
    "dev-shop",
    "prod-status",
    "corp-mail",
)
_SCRIPTS: Final = ("router", "image-resizer", "geo-redirect", "ab-test")
_SHIELDED: Final = ("prod-shop-web", "staging-shop-web", "prod-api-gateway")
_STORES: Final = ("prod-shop-assets", "backups")
_STREAMS: Final = ("product-videos",)
_CONTAINERS: Final = ("orders-api",)
_STAGES: Final = ("prod", "staging", "dev", "qa")
_WORDS: Final = (
    "shop",
    "api",
    "blog",
    "login",
    "media",
    "docs",
    "status",
    "mail",
    "assets",
    "search",
    "pay",
    "news",
    "help",
    "forum",
    "maps",
    "games",
)


def _name(known: tuple[str, ...], place: int) -> str:
    if place < len(known):
        return known[place]
    return f"{_STAGES[place % len(_STAGES)]}-{_WORDS[place // len(_STAGES) % len(_WORDS)]}-{place}"


def zone_name(place: int) -> str:
    """Return the domain of a DNS zone."""
    return _name(_ZONES, place) + ".example"


def script_name(place: int) -> str:
    """Return the name of an edge script."""
    return _name(_SCRIPTS, place)


def pull_zone_name(place: int) -> str:
    """Return the name of a pull zone, which a shield zone protects."""
    return _name(_SHIELDED, place)


def storage_name(place: int) -> str:
    """Return the name of a storage zone."""
    return _name(_STORES, place)


def stream_name(place: int) -> str:
    """Return the name of a video library."""
    return _name(_STREAMS, place)


def container_name(place: int) -> str:
    """Return the name of a container application."""
    return _name(_CONTAINERS, place)
