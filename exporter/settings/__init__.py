"""The settings: flags, environment variables and a YAML file, as one model.

- `model.py`: the whole model; `account.py`, `database.py`, `endpoint.py` and `service.py`: its sections. The section of
  the collectors is made from the catalogue.
- `flags.py`, `sources.py`: the values that the command line and the environment set; `loading.py`: their precedence.
- `yaml_file.py`, `section.py`, `messages.py`, `faults.py`: report every fault with its file, line and key.

In: text. Out: frozen settings, or all faults at once. No message contains a secret.
"""
