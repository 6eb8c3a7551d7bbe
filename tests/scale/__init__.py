"""Simulates large accounts: `python -m tests.scale.run`."""
