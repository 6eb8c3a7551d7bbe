"""The settings: flags, environment variables and a YAML file as one model."""
