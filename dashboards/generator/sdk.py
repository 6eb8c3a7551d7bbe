"""Imports the Grafana SDK's models of the classic dashboard schema without their deprecation warning.

File provisioning and the sidecar read the classic schema.
"""

import warnings

with warnings.catch_warnings():
    # The import itself warns; with the filter "error" it would fail.
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.cog import plugins
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models import (
        bargauge,
        common,
        dashboard,
        prometheus,
        stat,
        statetimeline,
        table,
        timeseries,
    )

__all__ = [
    "JSONEncoder",
    "bargauge",
    "common",
    "dashboard",
    "plugins",
    "prometheus",
    "stat",
    "statetimeline",
    "table",
    "timeseries",
]
