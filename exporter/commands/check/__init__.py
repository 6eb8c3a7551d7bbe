"""`check`: validates the configuration, then tries every credential and target once.

In: the configuration. Out: a table of what answers and what does not, and exit code 1 where anything is wrong.
It polls with the collectors of the daemon and writes neither state nor metrics.
"""
