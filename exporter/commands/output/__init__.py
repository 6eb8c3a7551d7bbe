"""The output of commands, as tables and messages, and how commands end."""
