"""Explains absences: why a target lacks series of a family that it could have.

In: the settings, the targets, and the statuses of their polls, which are only read. Out: absences. It keeps no state.
"""
