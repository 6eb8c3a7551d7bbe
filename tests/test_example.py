"""The commented configuration file is complete, and shows the real defaults."""

import shutil
from pathlib import Path

import yaml
from pydantic import BaseModel

from exporter.collectors.database import SqlQuery
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.loading import load
from exporter.settings.model import Settings

EXAMPLE = Path(__file__).parents[1] / "deploy" / "edge-exporter.yml"
# One of a pair: the other is named in its comment.
ALTERNATIVES = {"api_key", "auth_token"}


def loaded(folder: Path) -> Settings:
    """Load the example's settings, with the secrets in the same folder."""
    shutil.copy(EXAMPLE, folder)
    (folder / "api-key").write_text("a-key")
    (folder / "database-token").write_text("a-token")
    return load(folder / EXAMPLE.name, {}, {})


def test_it_names_every_key_there_is() -> None:
    def missing(model: type[BaseModel], configured: object, path: str) -> list[str]:
        assert isinstance(configured, dict), path
        gone = [f"{path}.{key}" for key in model.model_fields if key not in configured and key not in ALTERNATIVES]
        for key, field in model.model_fields.items():
            kind = field.annotation
            if isinstance(kind, type) and issubclass(kind, BaseModel) and key in configured:
                gone += missing(kind, configured[key], f"{path}.{key}")
        return gone

    configured = yaml.safe_load(EXAMPLE.read_text())
    assert missing(Settings, configured, "") == []
    assert missing(AccountSettings, configured["accounts"][0], "accounts") == []
    assert missing(DatabaseSettings, configured["databases"][0], "databases") == []
    assert missing(SqlQuery, configured["databases"][0]["queries"][0], "queries") == []


def test_what_it_says_of_the_defaults_is_true(tmp_path: Path) -> None:
    settings = loaded(tmp_path)
    plain = Settings.model_validate(
        {"accounts": [{"name": "main", "base_url": "https://api.example.net", "api_key": "a-key"}]}
    )
    same = {"api_key", "api_key_file"}
    assert settings.accounts[0].model_dump(exclude=same) == plain.accounts[0].model_dump(exclude=same)
    for section in ("collectors", "series", "web", "shard", "log"):
        assert getattr(settings, section) == getattr(plain, section), section
    assert settings.state.retention == plain.state.retention
