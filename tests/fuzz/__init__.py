"""Runs the property tests for as long as one likes."""
