"""The settings: flags, environment variables and a YAML file as one model.

`model.py` is the whole, `account.py`, `database.py` and `service.py` its sections (that of the collectors is made from
the catalogue), `sources.py` and `flags.py` what the environment and the command line set, `loading.py` the precedence;
`yaml_file.py`, `faults.py`, `messages.py` and `section.py` name every fault by its file, line and key.

In: text. Out: frozen settings, or every fault at once. Secrets are held as secrets and are never part of a message.
"""
