"""The files that are shipped with the exporter, such as dashboards, alert rules and runbooks."""
