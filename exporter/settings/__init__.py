"""The settings: flags, environment variables and a YAML file, as one model.

- `sections.py`: all sections; `account.py` and `service.py`: those that no other room declares. The section of the
  collectors is made from the catalogue.
- `model.py`: the sections as pydantic-settings merges them; `flags.py`, `sources.py`: the values that the command line
  and the environment set; `loading.py`: loads all, with the origin of each value.

In: text. Out: frozen settings, or all faults at once.
"""
