"""Grafana dashboards as code; the JSON they generate stands in dashboards/ at the top."""
