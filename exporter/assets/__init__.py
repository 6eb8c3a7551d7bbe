"""What is shipped beside the program: dashboards, alert rules, the Alertmanager configuration and runbooks."""
