"""Writes history from the platform's charts, as OpenMetrics text with timestamps.

- `job.py`: requests the charts of each target and writes their history.
- `charts.py`: requests and reads the charts, also those of configured endpoints.
- `baselines.py`: reads from the ledger where the daemon's counters begin.
- `samples.py`: converts days to samples; `output.py`: writes them, sorted by family.

In: accounts, a range of days and, if there is one, the state. Out: one file for
`promtool tsdb create-blocks-from openmetrics`.
"""
