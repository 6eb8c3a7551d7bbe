"""Output of commands: tables, messages and progress. It also ends commands on Ctrl-C.

In: text and rows. Out: lines that fit the terminal, a pipe or a file.
"""
