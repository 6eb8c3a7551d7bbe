"""Defines queries that several dashboards use."""
