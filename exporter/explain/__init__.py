"""Explains absences: names one cause for every family that a target could have and has no series of.

In: the settings, the targets, and the statuses of their polls, which are only read. Out: absences. It keeps no state.
"""
