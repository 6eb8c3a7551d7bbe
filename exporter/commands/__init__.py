"""The commands; `exporter.cli` lists them, and loads one only when it is called.

A command's module has its name. The large ones are folders, whose `__init__.py` defines the options and the help.
`output/` prints tables and messages, and ends commands. In: options and arguments. Out: text on the terminal and an
exit code; every expected fault is a message.
"""
