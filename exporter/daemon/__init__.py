"""The daemon: builds and connects all parts, and starts, reloads and stops them.

In: settings, and a function that reads them again. Out: a process that polls and serves. `daemon.py` is its life: run,
start, stop, reload; `polling.py` is what a reload and a change of shards replace.
"""
