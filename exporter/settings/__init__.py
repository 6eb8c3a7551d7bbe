"""The settings: flags, environment variables and a YAML file, as one model.

- `model.py`: the whole model, merged by pydantic-settings; `account.py`, `targets.py` and `service.py`: its sections,
  except for those that another room declares.
- `flags.py`: what flags and variables can set; `loading.py`: loads all, and refuses keys that were removed.
"""
