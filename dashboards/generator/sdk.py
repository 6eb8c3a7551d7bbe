"""The Grafana SDK's models, imported without the notice that their classic schema has a successor.

The classic schema is the one that file provisioning and the sidecar read.
"""

import warnings

with warnings.catch_warnings():
    # The notice is raised by the import itself, and under "error" it would end it.
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.cog import plugins
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models import (
        bargauge,
        common,
        dashboard,
        heatmap,
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
    "heatmap",
    "plugins",
    "prometheus",
    "stat",
    "statetimeline",
    "table",
    "timeseries",
]
