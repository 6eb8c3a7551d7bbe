"""Explains absences: gives exactly one cause for every family that a target could have and that has no series.

In: the registry, the store and the schedule, which are only read, through small interfaces. Out: absences, and
their number by collector and cause. Nothing is computed for a scrape, and no state is kept between two requests.
"""
