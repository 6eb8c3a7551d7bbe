"""The settings: flags, environment variables and a YAML file, as one model.

- `model.py`: all sections, as pydantic-settings merges them; `account.py`, `targets.py` and `service.py`: those that no
  other room declares.
- `flags.py`: what flags and variables can set; `loading.py`: loads all, and refuses keys that were removed.
"""
