"""Runs the property tests for a chosen time."""
