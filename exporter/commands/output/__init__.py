"""The output of commands (tables and messages), and how commands end.

In: text and rows. Out: lines that fit the terminal, a pipe or a file.
"""
