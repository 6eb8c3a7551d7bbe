"""The settings: flags, environment variables and a YAML file, as one model.

- `model.py`: the whole model; `account.py`, `targets.py` and `service.py`: most sections of the model.
- `flags.py`: the flags and variables; `loading.py`: reads flags, variables and file, and refuses removed keys.
"""
