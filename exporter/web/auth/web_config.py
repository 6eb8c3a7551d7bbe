"""The web configuration file that all Prometheus exporters share: TLS, response headers and basic auth."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic_core import InitErrorDetails

from exporter.settings.faults import ConfigurationError, Fault, KeyPath
from exporter.settings.messages import faults_of
from exporter.settings.section import Section, at, expected, items, refused
from exporter.settings.yaml_file import file_names_resolved, read_marked
from exporter.web.auth.tls import TlsFileError, TlsSettings, openssl_ciphers, server_context

# The last letter of the salt carries two bits alone.
_BCRYPT = re.compile(r"\$2[aby]\$(?P<cost>[0-9]{2})\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}")
_COSTS = range(4, 18)  # a check at cost 17 takes ten seconds; beyond, nobody ever gets in
_UNVERIFIED = frozenset({"RequestClientCert", "RequireAnyClientCert"})
_VERIFIED = frozenset({"VerifyClientCertIfGiven", "RequireAndVerifyClientCert"})
_OLD_VERSIONS = frozenset({"TLS10", "TLS11"})
_HEADER_VALUES: Mapping[str, tuple[str, ...]] = {
    "Strict-Transport-Security": (),
    "X-Content-Type-Options": ("nosniff",),
    "X-Frame-Options": ("deny", "sameorigin"),
    "X-XSS-Protection": (),
    "Content-Security-Policy": (),
}


class WebConfigError(ConfigurationError):
    """The web configuration is refused; `faults` names everything that is wrong with it."""


def _parse_hash(value: object) -> SecretStr:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    match = _BCRYPT.fullmatch(text) if isinstance(text, str) else None
    if not isinstance(text, str) or match is None:
        raise refused("is no bcrypt hash; expected one such as $2y$10$…, as 'htpasswd -nBC 10' prints it")
    if int(match["cost"]) not in _COSTS:
        raise refused(f"has the bcrypt cost {match['cost']}, expected one from {_COSTS[0]} to {_COSTS[-1]}")
    return SecretStr(text)


def _parse_user(value: object) -> str:
    if not isinstance(value, str) or not value or ":" in value:
        raise refused("is no user name; expected text without a ':'")
    return value


def _parse_version(value: object) -> object:
    if value in _OLD_VERSIONS:
        raise refused(f"found '{value}', which is no longer safe and not served; expected TLS12 or TLS13")
    return value


def _parse_cipher(value: object) -> str:
    if not isinstance(value, str) or openssl_ciphers([value]) is None:
        raise expected("the name of a cipher suite such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
    return value


def _parse_client_auth(value: object) -> object:
    if value in _UNVERIFIED:
        raise refused(
            f"found '{value}', which takes certificates without verifying them, and this server always verifies; "
            "expected NoClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert"
        )
    return value


Version = Annotated[Literal["TLS12", "TLS13"], BeforeValidator(_parse_version)]


class TlsServerConfig(Section):
    """How connections are encrypted, and which clients may make one."""

    cert_file: Annotated[Path, Field(description="The certificate's file, PEM.")]
    key_file: Annotated[Path, Field(description="The key's file, PEM.")]
    client_auth_type: Annotated[
        Literal["NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"],
        BeforeValidator(_parse_client_auth),
        Field(description="Whether clients show a certificate."),
    ] = "NoClientCert"
    client_ca_file: Annotated[
        Path | None, Field(description="Certificates of the authorities that clients' certificates are from, PEM.")
    ] = None
    client_allowed_sans: Annotated[
        tuple[str, ...], Field(description="Alternative names of which a client's certificate must have one.")
    ] = ()
    min_version: Annotated[Version, Field(description="The lowest TLS version.")] = "TLS12"
    max_version: Annotated[Version, Field(description="The highest TLS version.")] = "TLS13"
    cipher_suites: Annotated[
        tuple[Annotated[str, BeforeValidator(_parse_cipher)], ...],
        Field(description="Cipher suites of TLS 1.2; those of TLS 1.3 cannot be chosen."),
    ] = ()
    prefer_server_cipher_suites: Annotated[bool, Field(description="The server's order of ciphers counts.")] = True
    curve_preferences: Annotated[
        tuple[Literal["CurveP256", "CurveP384", "CurveP521", "X25519"], ...],
        Field(max_length=1, description="The one curve of the key exchange."),
    ] = ()

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Clients' certificates are verified by somebody; the versions leave one."""
        auth_type, has_authorities = raw.get("client_auth_type", "NoClientCert"), raw.get("client_ca_file") is not None
        if auth_type in _VERIFIED and not has_authorities:
            yield at(("client_ca_file",), refused(f"missing; {auth_type} needs the authorities that it verifies by"))
        elif auth_type == "NoClientCert" and has_authorities:
            message = "is not used with NoClientCert; set client_auth_type: RequireAndVerifyClientCert"
            yield at(("client_ca_file",), refused(message))
        elif auth_type == "NoClientCert" and items(raw.get("client_allowed_sans")):
            message = "is not used with NoClientCert; set client_auth_type: RequireAndVerifyClientCert"
            yield at(("client_allowed_sans",), refused(message))
        if raw.get("min_version") == "TLS13" and raw.get("max_version") == "TLS12":
            yield at(("max_version",), refused("found 'TLS12', expected at least the min_version (TLS13)"))
        names = [name for name in items(raw.get("cipher_suites")) if isinstance(name, str)]
        if names and openssl_ciphers(names) == "" and raw.get("max_version") == "TLS12":
            yield at(("cipher_suites",), refused("holds suites of TLS 1.3 alone, and max_version is TLS12"))


class HttpServerConfig(Section):
    """How answers are sent."""

    http2: Annotated[bool, Field(description="Accepted, since files are shared; HTTP/1.1 is what is spoken.")] = True
    headers: Annotated[Mapping[str, str], Field(description="Headers that every answer carries.")] = Field(
        default_factory=dict
    )

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Only the headers that a server may be told to add, with values that they may have."""
        headers = raw.get("headers")
        for name, value in headers.items() if isinstance(headers, Mapping) else ():
            allowed = _HEADER_VALUES.get(name)
            if allowed is None:
                yield at(("headers", name), refused(f"cannot be set; expected one of {', '.join(_HEADER_VALUES)}"))
            elif isinstance(value, str) and not re.fullmatch(r"[\x20-\x7e]+", value):
                yield at(("headers", name), refused("holds what an HTTP header cannot carry"))
            elif isinstance(value, str) and allowed and value.lower() not in allowed:
                yield at(("headers", name), refused(f"found '{value}', expected one of {', '.join(allowed)}"))


class WebConfig(Section):
    """The file as a whole; each of its parts may be absent."""

    tls_server_config: TlsServerConfig | None = None
    http_server_config: HttpServerConfig = HttpServerConfig()
    basic_auth_users: Annotated[
        Mapping[Annotated[str, BeforeValidator(_parse_user)], Annotated[SecretStr, BeforeValidator(_parse_hash)]],
        Field(description="Users, and the bcrypt hashes of their passwords."),
    ] = Field(default_factory=dict)

    def tls(self) -> TlsSettings | None:
        """What the server's TLS is made of; None where it speaks plain HTTP."""
        config = self.tls_server_config
        if config is None:
            return None
        return TlsSettings(
            cert_file=config.cert_file,
            key_file=config.key_file,
            client_ca_file=config.client_ca_file,
            requires_client_cert=config.client_auth_type == "RequireAndVerifyClientCert",
            allowed_names=config.client_allowed_sans,
            min_version=config.min_version,
            max_version=config.max_version,
            cipher_suites=config.cipher_suites,
            prefers_own_ciphers=config.prefer_server_cipher_suites,
            curve=next(iter(config.curve_preferences), None),
        )


def load_web_config(path: Path) -> WebConfig:
    """Read and check a web configuration file, and the files that it names.

    Raises:
        WebConfigError: Something is wrong; it holds every fault.
    """
    file = read_marked(path, example="tls_server_config:", may_be_empty=True)
    if file.data is None:
        raise WebConfigError(file.faults)

    def locate(place: KeyPath) -> tuple[str, int | None]:
        return file.source, file.line(place)

    faults: list[Fault] = list(file.faults)
    config = None
    try:
        config = WebConfig.model_validate(file_names_resolved(file.data, path.parent))
        tls = config.tls()
        if tls is not None:
            server_context(tls)
    except ValidationError as error:
        faults.extend(faults_of(error, WebConfig, locate))
    except TlsFileError as error:
        source, line = locate(("tls_server_config", error.key))
        faults.append(Fault(source, line, f"tls_server_config.{error.key}", str(error)))
    if faults or config is None:
        raise WebConfigError(sorted(dict.fromkeys(faults), key=lambda fault: fault.line or 0))
    return config
