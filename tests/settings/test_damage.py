"""Damaged configurations: any content of a file gives settings or faults, never another error."""

from pathlib import Path

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter.collectors.database import SqlQuery
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.flags import flags
from exporter.settings.loading import load
from exporter.settings.model import Settings
from exporter.settings.service import CollectorSettings, CollectorsSettings
from exporter.validation.configuration_errors import ConfigurationError, ConfigurationFault

NOT_OURS = ("Input should", "should have", "Value error", "validation error", "Traceback")
SECRET = "S3CRET-0f3c9a7e"
KEYS = sorted(
    {
        key
        for model in (Settings, AccountSettings, DatabaseSettings, SqlQuery, CollectorSettings, CollectorsSettings)
        for key in model.model_fields
    }
    | {"ids", "ids_file", "include", "id", "listen", "path", "index", "total", "level", "deny", "stray", ""}
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates() | st.sampled_from(
    ["auto", "null", "5m", "https://x", "libsql://x?authToken=y", "[", "(", ":1", "/", "0", "main"]
)  # fmt: skip


def damaged(keys: list[str]) -> st.SearchStrategy[object]:
    texts = st.sampled_from(keys)
    return st.recursive(
        SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=4), max_leaves=15
    )


DAMAGE = damaged(KEYS)


def outcome(config: Path | None, values: dict[str, str], environ: dict[str, str]) -> str:
    """Load the settings, and return them or the faults as text."""
    faults: tuple[ConfigurationFault, ...] = ()
    try:
        return repr(load(config, values, environ))
    except ConfigurationError as error:
        faults = error.faults
    return "\n".join(str(fault) for fault in faults if fault.message)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.dictionaries(st.sampled_from(KEYS), DAMAGE, max_size=5),
    account=st.dictionaries(st.sampled_from(list(AccountSettings.model_fields)), DAMAGE, max_size=6),
    database=st.dictionaries(st.sampled_from(list(DatabaseSettings.model_fields)), DAMAGE, max_size=4),
)
def test_any_data_is_settings_or_faults_without_a_secret(
    tmp_path: Path, data: dict[str, object], account: dict[str, object], database: dict[str, object]
) -> None:
    path = tmp_path / "config.yml"
    secret = [{"accounts": [{**account, "api_key": SECRET}]}, {"databases": [{**database, "auth_token": SECRET}]}]
    for whole in (data, data | secret[0], data | secret[1]):
        path.write_text(yaml.safe_dump(whole, allow_unicode=True), encoding="utf-8")
        found = outcome(path, {}, {"EDGE_EXPORTER_BASE_URL": "https://x", "EDGE_EXPORTER_API_KEY": "hunter2"})
        assert found != ""
        assert not any(words in found for words in (*NOT_OURS, SECRET))


@given(
    values=st.dictionaries(st.sampled_from([flag.name for flag in flags()]), st.text(max_size=8), max_size=6),
    environ=st.dictionaries(
        st.sampled_from(
            [flag.variable for flag in flags()] + ["PLATFORM_DATABASE_URL", "PLATFORM_DATABASE_AUTH_TOKEN"]
        ),
        st.text(max_size=8),
        max_size=6,
    ),
)
def test_any_flags_and_variables_are_settings_or_faults(values: dict[str, str], environ: dict[str, str]) -> None:
    found = outcome(None, values, environ)
    assert found != ""
    assert not any(words in found for words in NOT_OURS)
