"""Output of commands: tables, messages and progress; and their end by Ctrl-C.

In: text and rows. Out: lines that fit the terminal, a pipe or a file.
"""
