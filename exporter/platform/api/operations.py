"""The operations that the modules of this folder declare, without the operations of configured endpoints."""

from typing import Any

from exporter.platform.api import containers, dns, global_search, scripting, shield, sql_over_http
from exporter.platform.operation import Operation

_AREAS = (dns, scripting, containers, shield, global_search, sql_over_http)

OPERATIONS: tuple[Operation[Any], ...] = tuple(
    declared for area in _AREAS for declared in vars(area).values() if isinstance(declared, Operation)
)
