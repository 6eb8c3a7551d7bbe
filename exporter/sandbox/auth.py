"""Authentication: the two schemes, and the roles of keys."""

from enum import Enum, auto

from starlette.requests import Request

from exporter.sandbox.keys import STATISTICS_ROLES
from exporter.sandbox.world import World


class Access(Enum):
    """The authentication that an operation requires."""

    STATISTICS = auto()
    """Either scheme, and one of the roles that the interface lists."""

    ACCESS_KEY = auto()
    """The AccessKey header, as the interface shows."""

    EITHER = auto()
    """Either scheme: the interface does not show which."""


def is_allowed(world: World, request: Request, access: Access) -> bool:
    """Return whether a request is authorised."""
    key = request.headers.get("accesskey")
    if key is None and (access is not Access.ACCESS_KEY or world.bearer_everywhere):
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            key = token.strip()
    role = world.keys.get(key) if key else None
    if access is Access.STATISTICS:
        return role in STATISTICS_ROLES
    return role is not None
