"""`call`: carries out one operation of the platform from the command line.

In: the name of an operation and its arguments. Out: the answer as JSON, with secrets masked, and different exit codes
for refused, not found, limited and unreachable. An operation that writes requires `--yes`.
"""
