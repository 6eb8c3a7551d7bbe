"""Damaged web configuration files: each gives a configuration, or faults with their lines."""

from pathlib import Path

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter.validation.faults import ConfigurationError
from exporter.web.auth.tls_settings import TlsSettings
from exporter.web.auth.web_config import HttpServerConfig, WebConfig, load_web_config

SECRET = "S3CRET-0f3c9a7e"
KEYS = sorted(
    {key for model in (WebConfig, TlsSettings, HttpServerConfig) for key in model.model_fields}
    | {"headers", "Strict-Transport-Security", "http2", "cert", "key", "client_ca", "rate_limit", "stray", ""}
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(
    ["TLS12", "TLS13", "TLS10", "X25519", "NoClientCert", "VerifyClientCertIfGiven", "cert.pem", "/dev/null", "/", "0",
     "$2y$10$" + "a" * 53, "$2y$99$" + "a" * 53, "nosniff", "DENY"]
)  # fmt: skip
DAMAGE = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.dictionaries(st.sampled_from(KEYS), DAMAGE, max_size=4),
    users=DAMAGE | st.just({"admin": SECRET}) | st.just({SECRET: "$2y$10$short"}),
)
def test_any_file_is_a_configuration_or_faults(tmp_path: Path, data: dict[str, object], users: object) -> None:
    path = tmp_path / "web.yml"
    path.write_text(yaml.safe_dump({**data, "basic_auth_users": users}, allow_unicode=True), encoding="utf-8")
    try:
        printed = repr(load_web_config(path))
    except ConfigurationError as error:
        printed = str(error)
    assert printed != ""
    assert not any(words in printed for words in ("Value error", "validation error", "Traceback"))
    # A name may be shown; what stands in the place of a hash may not.
    assert users != {"admin": SECRET} or SECRET not in printed
