"""`backfill`: writes history from the charts. In: days and settings. Out: an OpenMetrics file with timestamps."""
