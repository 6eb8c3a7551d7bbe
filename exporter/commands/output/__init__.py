"""What commands print: tables, messages about faults, progress; and how Ctrl-C ends them.

In: text and rows. Out: lines that fit the terminal, a pipe or a file.
"""
