"""Output of commands: tables and messages. It also ends commands on Ctrl-C.

In: text and rows. Out: lines that fit the terminal, a pipe or a file.
"""
