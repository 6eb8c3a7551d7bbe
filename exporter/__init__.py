"""A Prometheus exporter for an edge platform's management API and database endpoint."""

__version__ = "0.1.0"
