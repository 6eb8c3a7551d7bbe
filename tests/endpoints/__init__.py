"""Configured endpoints, from the file to the series."""
