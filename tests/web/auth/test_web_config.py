from pathlib import Path
from textwrap import dedent

import pytest

from exporter.validation.configuration_errors import ConfigurationError
from exporter.web.auth.tls import read_pems, server_context
from exporter.web.auth.web_config import load_web_config
from tests.golden import assert_golden
from tests.web.certificates import Authority

# "hunter2" at the lowest cost; a literal, so that the names of tests are the same in every process.
HASH = "$2b$04$Hiarzo7jyfvqitFsNndQNeKsESuNVeg5RGtgQ2RTOh/m7H9A6VxyG"


FILES = Path(__file__).parent / "files.txt"


def write(directory: Path, text: str) -> Path:
    """Write a web configuration file with this text."""
    path = directory / "web.yml"
    path.write_text(dedent(text), encoding="utf-8")
    return path


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
          curve_preferences: [CurveP256]
        http_server_config:
          http2: true
          headers:
            X-Frame-Options: DENY
            Strict-Transport-Security: max-age=31536000
        basic_auth_users:
          prometheus: {HASH}
        """
    config = load_web_config(write(directory, text))
    tls = config.tls_server_config
    assert tls is not None
    files = (tls.cert_file, tls.key_file, tls.client_ca_file)
    assert files == tuple(directory / name for name in ("server.crt", "server.key", "ca.pem"))
    assert tls.client_auth_type == "RequireAndVerifyClientCert"
    assert tls.client_allowed_sans == ("prometheus.example.org",)
    assert (tls.min_version, tls.max_version, tls.curve_preferences) == ("TLS12", "TLS13", ("CurveP256",))
    assert not tls.prefer_server_cipher_suites
    assert tls.cipher_suites == ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256")
    headers = {"X-Frame-Options": "DENY", "Strict-Transport-Security": "max-age=31536000"}
    assert config.http_server_config.headers == headers
    assert {user: secret.get_secret_value() for user, secret in config.basic_auth_users.items()} == {"prometheus": HASH}
    assert HASH not in f"{config!r} {config}"


@pytest.mark.parametrize(
    ("text", "users"),
    [
        *((text, []) for text in ("", "# nothing", "tls_server_config:\nbasic_auth_users:", "basic_auth_users: {}")),
        # Everything that other exporters accept is accepted.
        ('tls_server_config: {}\nhttp_server_config: {headers: {X-Frame-Options: ""}}\nrate_limit: {}', []),
        (f"basic_auth_users: {{me: {HASH.replace('$04$', '$18$')}}}", ["me"]),
    ],
)
def test_what_a_file_leaves_empty_is_not_configured(directory: Path, text: str, users: list[str]) -> None:
    config = load_web_config(write(directory, text))
    assert (config.tls_server_config, list(config.basic_auth_users)) == (None, users)
    assert not any(config.http_server_config.headers.values())


def test_a_file_gives_the_faults_of_its_case(directory: Path) -> None:
    """A case of `files.txt` is a line `### words`, then the file, then `=>` and what is printed."""
    cases = FILES.read_text(encoding="utf-8").split("### ")[1:]
    shown = ""
    for case in cases:
        words, _, rest = case.partition("\n")
        text = rest.partition("=>\n")[0]
        with pytest.raises(ConfigurationError) as refused:
            load_web_config(write(directory, text))
        shown += f"### {words}\n{text}=>\n{refused.value}\n".replace(f"{directory}/", "")
    assert_golden(shown, FILES)


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
    tls = config.tls_server_config
    assert tls is not None
    files = len(list(Path("/dev/fd").iterdir()))
    assert server_context(tls, read_pems(tls)).get_ca_certs() != []
    assert len(list(Path("/dev/fd").iterdir())) == files
    assert "PRIVATE KEY" not in f"{config!r} {config} {tls!r}"
