"""The commands; `exporter.cli` lists them, and imports the module of one only when it is called.

In: options and arguments. Out: text on the terminal and an exit code; an expected fault is a message, not a traceback.

The module of a command has its name; large ones are folders. `output/` prints tables and messages, and ends commands.
"""
