"""Replicas on one state database under random faults, compared with one exporter without faults."""
