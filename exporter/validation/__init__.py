"""Validates configuration files: sections, the values in them, and every fault with its file, line and key.

- `yaml_file.py`: reads YAML as text, with the line of each value.
- `section.py`: the base of every section, which words and reports its faults; `types.py`, `secrets.py`: the values.
- `configuration_errors.py`: a fault and its place. No message contains a secret.

The settings and the web configuration file are validated in the same way; a room that a section configures declares it.
"""
