"""The commands; `exporter.cli` lists them, and loads one only when it is called.

One module for each command, a folder for the large ones: `call/` and `check/`. `output/` prints tables, messages and
progress. In: options and arguments. Out: text on the terminal and an exit code; every expected fault is a message.
"""
