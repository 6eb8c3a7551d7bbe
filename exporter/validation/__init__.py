"""Validates configuration files: sections, the values in them, and every fault with its file, line and key.

- `yaml_file.py`: reads YAML as text, with the line of each value.
- `section.py`: the base of every section; `types.py`, `secrets.py`: the values.
- `messages.py`, `faults.py`: report all faults at once. No message contains a secret.

The settings and the web configuration file are validated in the same way; a room that a section configures declares it.
"""
