"""Builds from the settings: plans of collectors, selections of targets, clients, storage, labels and thresholds."""
