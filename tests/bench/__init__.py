"""Measures the exporter against the peers that are installed: `python -m tests.bench`."""
