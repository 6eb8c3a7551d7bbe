"""The dashboards, one module a page."""
