"""Damaged web configuration files: each gives a configuration, or faults with their lines."""

from pathlib import Path

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter.validation.configuration_errors import ConfigurationError
from exporter.web.auth.tls import TlsSettings
from exporter.web.auth.web_config import HttpServerConfig, WebConfig, load_web_config
from tests.settings.test_damage import NOT_OURS, SECRET, damaged

MODELS = (WebConfig, TlsSettings, HttpServerConfig)
KEYS = sorted({"headers", "http2", "", *(key for model in MODELS for key in model.model_fields)})
WORDS = ("TLS12", "TLS10", "X25519", "VerifyClientCertIfGiven", "cert.pem", "/dev/null", "$2y$10$" + "a" * 53, "DENY")
DAMAGE = damaged(KEYS) | st.sampled_from(WORDS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.dictionaries(st.sampled_from(KEYS), DAMAGE, max_size=4),
    users=DAMAGE | st.just({"admin": SECRET}) | st.just({SECRET: "$2y$10$short"}),
)
def test_any_file_is_a_configuration_or_faults(tmp_path: Path, data: dict[str, object], users: object) -> None:
    path = tmp_path / "web.yml"
    path.write_text(yaml.safe_dump({**data, "basic_auth_users": users}, allow_unicode=True), encoding="utf-8")
    try:
        found = repr(load_web_config(path))
    except ConfigurationError as error:
        found = str(error)
    assert found != ""
    assert not any(words in found for words in NOT_OURS)
    # A name may be shown; the text in the place of a hash may not.
    assert users != {"admin": SECRET} or SECRET not in found
