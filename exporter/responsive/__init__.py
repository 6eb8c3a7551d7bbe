"""Keeps the event loop responsive: long work in slices, in turns, and with the process tuned for it."""
