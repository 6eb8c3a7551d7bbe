"""Defines the queries of the dashboards, one module for each page."""
