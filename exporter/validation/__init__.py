"""Validates the settings and the web configuration file, and reports faults with their places, such as file and line.

- `yaml_file.py`: reads the values of a YAML file as text, with their lines.
- `section.py`: the base class of sections; `types.py`, `secrets.py`: the types of values.
- `configuration_errors.py`: a fault and its place.
"""
