"""The shipped files: dashboards, alert rules, the Alertmanager configuration and runbooks."""
