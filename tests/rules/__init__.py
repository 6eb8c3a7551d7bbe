"""Tests of the alert and recording rules, their runbooks, and the Alertmanager configuration."""
