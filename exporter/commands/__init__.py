"""The commands of the command line. `exporter.cli` lists them, and imports the module of a command that is called.

In: options, arguments and settings. Out: text or files, and an exit code; `run`, `demo` and `sandbox` serve until a
signal. An expected fault is a message, not a traceback.

A command's module has the command's name, and may be a folder. `output/` prints tables and messages, and ends commands.
"""
