"""A Prometheus exporter for an edge platform's management API and database endpoint."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("edge-exporter")
except PackageNotFoundError:
    # A source tree that is not installed.
    __version__ = "0+unknown"
