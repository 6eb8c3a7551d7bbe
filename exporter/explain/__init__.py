"""Explains absences: why a target has no series of a family, although the target could have such series.

In: the settings, the targets, and the statuses of their polls. Out: absences. This room changes and keeps nothing.
"""
