"""The settings: flags, environment variables and a YAML file, as one model.

- `model.py`: all sections, as pydantic-settings merges them; `account.py`, `targets.py` and `service.py`: those that no
  other room declares. The section of the collectors is made from the catalogue.
- `flags.py`: the values that the command line and the environment can set; `loading.py`: loads all.
- `removed_keys.py`: keys of earlier versions, each with the message that refuses it.

In: text. Out: frozen settings, or all faults at once.
"""
