"""Tests of `exporter.explain`."""
