"""History from the platform's charts, as OpenMetrics text with timestamps.

`job.py` asks for the charts of each target, `charts.py` reads them, `endpoints.py` says how those of configured
endpoints are asked for, `baselines.py` takes the values at which the
daemon's counters continue from the ledger, `samples.py` turns days into samples, and `output.py` writes them sorted by
family.

In: accounts, a range of days and, where there is one, the state file (read only). Out: one file for
`promtool tsdb create-blocks-from openmetrics`.
"""
