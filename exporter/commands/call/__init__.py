"""`call`: carries out one operation of the platform from the command line.

In: the name of an operation and its arguments. Out: the answer as JSON, secrets masked, and an exit code that
differs for refused, not found, limited and unreachable. What writes asks for `--yes`.
"""
