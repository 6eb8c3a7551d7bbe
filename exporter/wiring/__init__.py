"""Builds objects from the settings: the plans of collectors, the selections of targets, clients, and the storage."""
