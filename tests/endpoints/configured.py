"""Builds collectors from configurations."""

from textwrap import indent

from exporter.collectors.collector import Collector
from exporter.settings.model import Settings
from exporter.validation.yaml_file import parse_marked
from exporter.wiring.plans import collectors_of
from tests.settings.configurations import ACCOUNT


def collector(text: str, name: str = "things", **sections: object) -> Collector:
    """Return the collector with this name, from endpoints in YAML."""
    return next(one for one in collectors_of(settings(text, **sections)) if one.name == name)


def settings(text: str, **sections: object) -> Settings:
    """Return settings of one account with these endpoints."""
    file = parse_marked(text, "endpoints.yml")
    account = {"name": "main", "base_url": "https://api.example.net", "api_key": "hunter2"}
    return Settings.model_validate({"accounts": [account], **file.data, **sections})


def file_of(endpoints: str) -> str:
    """Write a configuration file with these endpoints."""
    return f"{ACCOUNT}endpoints:\n{indent(endpoints, '  ')}"
