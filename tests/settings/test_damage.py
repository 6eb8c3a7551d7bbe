"""Damaged configurations: any content of a file gives settings or faults, never another error."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter.collectors.database import SqlQuery
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.flags import flags
from exporter.settings.loading import load
from exporter.settings.model import Settings
from exporter.settings.service import CollectorSettings, CollectorsSettings
from exporter.validation.faults import ConfigurationError, Fault, KeyPath
from exporter.validation.section import Section

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
    faults: tuple[Fault, ...] = ()
    try:
        return repr(load(config, values, environ, host_name="pod-0"))
    except ConfigurationError as error:
        faults = error.faults
    return "\n".join(str(fault) for fault in faults if fault.message)


WHOLE: dict[str, object] = {
    "accounts": [{"name": "main", "base_url": "https://x", "api_key": "k"}],
    "databases": [{"name": "d", "url": "https://y", "auth_token": "t", "queries": [{"name": "q", "sql": "SELECT 1"}]}],
    "endpoints": [{"name": "e", "path": "/e", "metrics": [{"name": "m", "value": "x", "help": "h"}]}],
}


def keys_of(section: Section, above: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the path of each key of a section and those in it."""
    for key in type(section).model_fields:
        yield (*above, key)
        value = getattr(section, key)
        if isinstance(value, Section):
            yield from keys_of(value, (*above, key))
        elif isinstance(value, tuple) and value and isinstance(value[0], Section):
            yield from keys_of(value[0], (*above, key, 0))


def test_null_is_an_absent_key_in_each_section_but_for_the_state_file(tmp_path: Path) -> None:
    path, whole = tmp_path / "config.yml", yaml.safe_dump(WHOLE)
    path.write_text(whole)
    differing = []
    for *above, key in keys_of(load(path, {}, {}, host_name="pod-0")):
        data = yaml.safe_load(whole)
        inner: Any = data
        for step in above:
            inner = inner[step] if isinstance(step, int) else inner.setdefault(step, {})
        found = []
        for is_there in (False, True):
            inner.pop(key, None)
            inner |= {key: None} if is_there else {}
            path.write_text(yaml.safe_dump(data, sort_keys=False))
            found.append(re.sub(r"config.yml:\d+", "", outcome(path, {}, {})))
        if found[0] != found[1]:
            differing.append((*above, key))
    assert differing == [("state", "path")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.dictionaries(st.sampled_from(KEYS), DAMAGE, max_size=5))
def test_any_data_is_settings_or_faults(tmp_path: Path, data: dict[str, object]) -> None:
    path = tmp_path / "config.yml"
    path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
    found = outcome(path, {}, {"EDGE_EXPORTER_BASE_URL": "https://x", "EDGE_EXPORTER_API_KEY": "hunter2"})
    assert found != ""
    assert not any(words in found for words in NOT_OURS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    account=st.dictionaries(st.sampled_from(list(AccountSettings.model_fields)), DAMAGE, max_size=6),
    database=st.dictionaries(st.sampled_from(list(DatabaseSettings.model_fields)), DAMAGE, max_size=4),
    key=st.sampled_from(["api_key", "auth_token"]),
)
def test_no_damage_around_a_secret_brings_it_to_light(
    tmp_path: Path, account: dict[str, object], database: dict[str, object], key: str
) -> None:
    path = tmp_path / "config.yml"
    data = {"accounts": [{**account, key: SECRET}], "databases": [{**database, key: SECRET}]}
    path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
    assert SECRET not in outcome(path, {}, {})


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
