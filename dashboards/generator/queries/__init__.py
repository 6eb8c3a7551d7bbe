"""Defines the queries of alerts, findings and tiles."""
