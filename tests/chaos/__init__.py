"""Replicas on one state database under faults at random, compared with one exporter that nothing disturbs."""
