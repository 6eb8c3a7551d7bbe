"""Validates the settings and the web configuration file, and reports their faults with file, line and key.

- `yaml_file.py`: reads YAML as text, with the line of each value.
- `section.py`: the base of every section; `types.py`, `secrets.py`: the values.
- `configuration_errors.py`: a fault and its place.
"""
