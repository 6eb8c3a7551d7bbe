# ruff: noqa: E501 - a message stands on one line, as it is printed
import ssl
from pathlib import Path
from textwrap import dedent

import pytest

from exporter.web.auth.access import WebConfigError, load_web_config
from exporter.web.auth.tls import server_context
from tests.web.certificates import Authority

# "hunter2" at the lowest cost; a literal, so that the names of tests are the same in every process.
HASH = "$2b$04$Hiarzo7jyfvqitFsNndQNeKsESuNVeg5RGtgQ2RTOh/m7H9A6VxyG"


def write(directory: Path, text: str) -> Path:
    """Write a web configuration file with this text."""
    path = directory / "web.yml"
    path.write_text(dedent(text), encoding="utf-8")
    return path


def refusal(directory: Path, text: str) -> list[str]:
    """Return the printed faults of a file with this text, without the directory."""
    with pytest.raises(WebConfigError) as refused:
        load_web_config(write(directory, text))
    return str(refused.value).replace(f"{directory}/", "").splitlines()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory with a server's certificate, its key, and the certificate's authority."""
    Authority(tmp_path).issue()
    return tmp_path


def test_a_whole_file_is_understood(directory: Path) -> None:
    text = f"""\
        tls_server_config:
          cert_file: server.crt
          key_file: server.key
          client_auth_type: RequireAndVerifyClientCert
          client_ca_file: ca.pem
          client_allowed_sans: [prometheus.example.org]
          min_version: TLS12
          max_version: TLS13
          cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256]
          prefer_server_cipher_suites: false
          curve_preferences: [X25519]
        http_server_config:
          http2: true
          headers:
            X-Frame-Options: deny
            Strict-Transport-Security: max-age=31536000
        basic_auth_users:
          prometheus: {HASH}
        """
    config = load_web_config(write(directory, text))
    tls = config.tls()
    assert tls is not None
    assert (tls.cert_file, tls.key_file, tls.client_ca_file) == (
        directory / "server.crt",
        directory / "server.key",
        directory / "ca.pem",
    )
    assert (tls.requires_client_cert, tls.client_allowed_sans) == (True, ("prometheus.example.org",))
    assert (tls.min_version, tls.max_version, tls.curve, tls.prefer_server_cipher_suites) == (
        "TLS12",
        "TLS13",
        "X25519",
        False,
    )
    assert tls.cipher_suites == ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256")
    assert config.http_server_config.headers == {
        "X-Frame-Options": "deny",
        "Strict-Transport-Security": "max-age=31536000",
    }
    assert {user: secret.get_secret_value() for user, secret in config.basic_auth_users.items()} == {"prometheus": HASH}


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "tls_server_config:\nbasic_auth_users:\n", "basic_auth_users: {}\n"]
)
def test_an_empty_file_configures_nothing(directory: Path, text: str) -> None:
    config = load_web_config(write(directory, text))
    assert (config.tls(), dict(config.basic_auth_users), dict(config.http_server_config.headers)) == (None, {}, {})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cert_fil: x", "tls_server_config.cert_fil: unknown key; did you mean 'cert_file'?"),
        ("min_version: TLS10", "tls_server_config.min_version: found 'TLS10', which is no longer safe and not served; expected TLS12 or TLS13"),
        ("max_version: SSL3", "tls_server_config.max_version: found 'SSL3', expected one of TLS12, TLS13"),
        ("client_auth_type: RequestClientCert", "tls_server_config.client_auth_type: found 'RequestClientCert', which takes certificates without verifying them, and this server always verifies; expected NoClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert"),
        ("client_auth_type: RequireAnyClientCert", "tls_server_config.client_auth_type: found 'RequireAnyClientCert', which takes certificates without verifying them, and this server always verifies; expected NoClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert"),
        ("client_auth_type: Always", "tls_server_config.client_auth_type: found 'Always', expected one of NoClientCert, VerifyClientCertIfGiven, RequireAndVerifyClientCert"),
        ("client_ca: a", "tls_server_config.client_ca: is not used with NoClientCert; set client_auth_type: RequireAndVerifyClientCert"),
        ("client_ca_file: ca.pem", "tls_server_config.client_ca_file: is not used with NoClientCert; set client_auth_type: RequireAndVerifyClientCert"),
        ("client_allowed_sans: [a]", "tls_server_config.client_allowed_sans: is not used with NoClientCert; set client_auth_type: RequireAndVerifyClientCert"),
        ("cipher_suites: [RC4]", "tls_server_config.cipher_suites[0]: found 'RC4', expected the name of a cipher suite such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
        ("curve_preferences: [X25519, CurveP256]", "tls_server_config.curve_preferences: found 2 items, but Python's TLS accepts only one curve; keep the first or remove all"),
        ("curve_preferences: [Curve1]", "tls_server_config.curve_preferences[0]: found 'Curve1', expected one of CurveP256, CurveP384, CurveP521, X25519"),
    ],
)  # fmt: skip
def test_wrong_tls_is_refused_by_line_and_path(directory: Path, line: str, message: str) -> None:
    text = f"tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n  {line}\n"
    place = 1 if "missing" in message else 4
    assert refusal(directory, text) == [f"web.yml:{place}: {message}"]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("tls_server_config: {min_version: TLS13, max_version: TLS12, cert_file: server.crt, key_file: server.key}", ["web.yml:1: tls_server_config.max_version: found 'TLS12', expected at least the min_version (TLS13)"]),
        ("tls_server_config: {max_version: TLS12, cipher_suites: [TLS_AES_128_GCM_SHA256], cert_file: server.crt, key_file: server.key}", ["web.yml:1: tls_server_config.cipher_suites: contains only suites of TLS 1.3, but max_version is TLS12"]),
        ("tls_server_config:\n  key_file: server.key", ["web.yml:1: tls_server_config.cert_file: missing; expected the certificate's file, PEM, or the text itself as cert"]),
        ("tls_server_config:\n  cert_file: none\n  key_file: server.key", ["web.yml:2: tls_server_config.cert_file: none does not exist"]),
        ("tls_server_config:\n  cert_file: server.crt\n  key_file: ca.pem", ["web.yml:3: tls_server_config.key_file: ca.pem holds no private key in PEM form"]),
        ("http_server_config: {headers: {X-Other: a}}", ["web.yml:1: http_server_config.headers.X-Other: cannot be set; expected one of Strict-Transport-Security, X-Content-Type-Options, X-Frame-Options, X-XSS-Protection, Content-Security-Policy"]),
        ("http_server_config: {headers: {X-Frame-Options: maybe}}", ["web.yml:1: http_server_config.headers.X-Frame-Options: found 'maybe', expected one of deny, sameorigin"]),
        ('http_server_config: {headers: {X-XSS-Protection: "a\\r\\nb"}}', ["web.yml:1: http_server_config.headers.X-XSS-Protection: contains characters that are not allowed in an HTTP header"]),
        ("http_server_config: {http2: maybe}", ["web.yml:1: http_server_config.http2: found 'maybe', expected true or false"]),
        ("basic_auth_users: [hunter2]", ["web.yml:1: basic_auth_users: found a list, expected a mapping"]),
        ("basic_auth_users:\n  me: hunter2", ["web.yml:2: basic_auth_users.me: is not a bcrypt hash; expected one such as $2y$10$…, as 'htpasswd -nBC 10' prints it"]),
        (f"basic_auth_users:\n  me: {HASH.replace('$04$', '$31$')}", ["web.yml:2: basic_auth_users.me: has the bcrypt cost 31, expected one from 4 to 18: a check takes 20 seconds at 18, and each further one doubles that"]),
        (f"basic_auth_users:\n  me: {HASH[:28]}/{HASH[29:]}", ["web.yml:2: basic_auth_users.me: is not a bcrypt hash; expected one such as $2y$10$…, as 'htpasswd -nBC 10' prints it"]),
        (f"basic_auth_users:\n  'a:b': {HASH}", ['web.yml:2: basic_auth_users["a:b"]: is not a user name; expected text without a \':\'']),
        ("rate_limit: {interval: 1s}", ["web.yml:1: rate_limit.burst: missing or 0, which refuses every request; expected at least 1"]),
        ("rate_limit: {interval: soon, burst: 1}", ["web.yml:1: rate_limit.interval: found 'soon', expected a duration such as 1s or 250ms"]),
        ("rate_limit: {interval: -1s, burst: 1}", ["web.yml:1: rate_limit.interval: found '-1s', expected a duration such as 1s or 250ms"]),
        ("tls_server_config: {min_version: TLS12}", ["web.yml:1: tls_server_config.cert_file: missing; expected the certificate's file, PEM, or the text itself as cert", "web.yml:1: tls_server_config.key_file: missing; expected the key's file, PEM, or the text itself as key"]),
        ("tls_server_config: {cert: nothing, key: nothing}", ["web.yml:1: tls_server_config.cert: the text holds no certificate in PEM form"]),
        ("basic_auth_user: {}", ["web.yml:1: basic_auth_user: unknown key; did you mean 'basic_auth_users'?"]),
        ("basic_auth_users: {}\nbasic_auth_users: {}", ["web.yml:2: basic_auth_users: duplicate key, first on line 1"]),
        ("- a", ["web.yml:1: found a list, expected keys such as 'tls_server_config:'"]),
        ("tls_server_config:\n\tcert_file: x", ["web.yml:2: a tab in the indentation; use spaces"]),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_by_line_and_path(directory: Path, text: str, faults: list[str]) -> None:
    assert refusal(directory, f"{text}\n") == faults


def test_all_faults_are_reported_at_once(directory: Path) -> None:
    text = """\
        tls_server_config:
          cert_file: server.crt
          min_version: TLS9
        http_server_config:
          headers: {X-Content-Type-Options: sniff}
        basic_auth_users:
          me: hunter2
        """
    assert refusal(directory, text) == [
        "web.yml:1: tls_server_config.key_file: missing; expected the key's file, PEM, or the text itself as key",
        "web.yml:3: tls_server_config.min_version: found 'TLS9', expected one of TLS12, TLS13",
        "web.yml:5: http_server_config.headers.X-Content-Type-Options: found 'sniff', expected one of nosniff",
        "web.yml:7: basic_auth_users.me: is not a bcrypt hash; expected one such as $2y$10$…, as 'htpasswd -nBC 10' prints it",
    ]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WebConfigError) as refused:
        load_web_config(tmp_path / "web.yml")
    assert str(refused.value) == f"{tmp_path}/web.yml: does not exist"


def test_no_hash_is_shown(directory: Path) -> None:
    config = load_web_config(write(directory, f"basic_auth_users: {{me: {HASH}}}"))
    assert HASH not in f"{config!r} {config}"


def test_a_certificate_and_its_key_may_stand_in_the_file_itself(directory: Path) -> None:
    def indented(name: str) -> str:
        return (directory / name).read_text().replace("\n", "\n    ").rstrip()

    text = f"""
tls_server_config:
  cert: |
    {indented("server.crt")}
  key: |
    {indented("server.key")}
  client_auth_type: RequireAndVerifyClientCert
  client_ca: |
    {indented("ca.pem")}
"""
    config = load_web_config(write(directory, text))
    tls = config.tls()
    assert tls is not None
    assert server_context(tls).get_ca_certs() != []
    assert "PRIVATE KEY" not in f"{config!r} {config} {tls!r}"


@pytest.mark.parametrize("auth_type", ["VerifyClientCertIfGiven", "RequireAndVerifyClientCert"])
def test_without_authorities_of_its_own_clients_are_verified_by_the_systems(directory: Path, auth_type: str) -> None:
    text = f"tls_server_config: {{cert_file: server.crt, key_file: server.key, client_auth_type: {auth_type}}}"
    tls = load_web_config(write(directory, text)).tls()
    assert tls is not None
    assert server_context(tls).verify_mode is not ssl.CERT_NONE


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("0", 0), ("0s", 0), ("1s", 1), ("250ms", 0.25), ("1m30s", 90), ("1.5h", 5400), ("1000000000", 1)],
)
def test_the_limit_s_interval_is_written_as_go_does(directory: Path, written: str, seconds: float) -> None:
    config = load_web_config(write(directory, f"rate_limit: {{interval: {written}, burst: 2}}"))
    assert config.rate_limit.interval == pytest.approx(seconds)
    assert config.rate_limit.burst == 2


def test_what_other_exporters_take_is_taken(directory: Path) -> None:
    costly = HASH.replace("$04$", "$18$")
    text = f"""
tls_server_config: {{}}
http_server_config: {{headers: {{X-Frame-Options: ""}}}}
rate_limit: {{}}
basic_auth_users: {{me: {costly}}}
"""
    config = load_web_config(write(directory, text))
    assert (config.tls(), config.rate_limit.interval, list(config.basic_auth_users)) == (None, 0, ["me"])
