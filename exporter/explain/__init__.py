"""Explains absences: for every family that a target could have and has no series of, exactly one cause.

In: the registry, the status board and the schedule, which are only read, through small interfaces. Out: absences, and
how many there are by collector and cause. Nothing is computed for a scrape, and nothing is kept between two questions.
"""
