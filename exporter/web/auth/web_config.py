"""Reads the web configuration file that all Prometheus exporters share: TLS, response headers and basic auth."""

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
from exporter.web.auth.pem import TlsFileError
from exporter.web.auth.tls import TlsSettings, openssl_ciphers, server_context

# The last letter of a salt has only two significant bits.
_BCRYPT = re.compile(r"\$2[aby]\$(?P<cost>[0-9]{2})\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}")
_COSTS = range(4, 19)  # a check at cost 18 takes about 20 seconds; each further step doubles the time
_UNVERIFIED = frozenset({"RequestClientCert", "RequireAnyClientCert", "RequireClientCert"})
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
        raise refused("is not a bcrypt hash; expected one such as $2y$10$…, as 'htpasswd -nBC 10' prints it")
    if int(match["cost"]) not in _COSTS:
        raise refused(
            f"has the bcrypt cost {match['cost']}, expected one from {_COSTS[0]} to {_COSTS[-1]}: "
            "a check takes 20 seconds at 18, and each further one doubles that"
        )
    return SecretStr(text)


def _parse_user(value: object) -> str:
    if not isinstance(value, str) or not value or ":" in value:
        raise refused("is not a user name; expected text without a ':'")
    return value


def _parse_version(value: object) -> object:
    if isinstance(value, str) and value in _OLD_VERSIONS:
        raise refused(f"found '{value}', which is no longer safe and not served; expected TLS12 or TLS13")
    return value


def _parse_cipher(value: object) -> str:
    if not isinstance(value, str) or openssl_ciphers([value]) is None:
        raise expected("the name of a cipher suite such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
    return value


def _parse_client_auth(value: object) -> object:
    if isinstance(value, str) and value in _UNVERIFIED:
        raise refused(
            f"found '{value}', which takes certificates without verifying them, and this server always verifies; "
            "expected NoClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert"
        )
    return value


_GO_UNITS: Mapping[str, float] = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_GO_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:h|ms|m|s|us|µs|ns))+", re.ASCII)
_GO_PART = re.compile(r"([0-9.]+)([a-zµ]+)")


def _parse_interval(value: object) -> float:
    """Read a duration in Go's form as seconds: `1s`, `250ms`, `1m30s`; a bare number is nanoseconds."""
    if isinstance(value, str) and value.isdecimal():
        return float(value) * 1e-9
    if not isinstance(value, str) or _GO_DURATION.fullmatch(value) is None:
        raise expected("a duration such as 1s or 250ms")
    return sum(float(number) * _GO_UNITS[unit] for number, unit in _GO_PART.findall(value))


def _parse_curves(value: object) -> object:
    if isinstance(value, list) and len(value) > 1:
        raise refused(
            f"found {len(value)} items, but Python's TLS accepts only one curve; keep the first or remove all"
        )
    return value


Version = Annotated[Literal["TLS12", "TLS13"], BeforeValidator(_parse_version)]


class TlsServerConfig(Section):
    """Encryption of connections, and the clients that may connect."""

    cert_file: Annotated[Path | None, Field(description="The certificate's file, PEM.")] = None
    key_file: Annotated[Path | None, Field(description="The key's file, PEM.")] = None
    cert: Annotated[str | None, Field(description="The certificate itself, PEM; not used if cert_file is set.")] = None
    key: Annotated[SecretStr | None, Field(description="The key itself, PEM; not used if key_file is set.")] = None
    client_auth_type: Annotated[
        Literal["NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"],
        BeforeValidator(_parse_client_auth),
        Field(description="Whether clients present a certificate."),
    ] = "NoClientCert"
    client_ca_file: Annotated[
        Path | None, Field(description="Certificates of the authorities of client certificates, PEM.")
    ] = None
    client_ca: Annotated[
        str | None, Field(description="These certificates as text, PEM; not used if client_ca_file is set.")
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
    prefer_server_cipher_suites: Annotated[bool, Field(description="Whether the server's order of ciphers wins.")] = (
        True
    )
    curve_preferences: Annotated[
        tuple[Literal["CurveP256", "CurveP384", "CurveP521", "X25519"], ...],
        BeforeValidator(_parse_curves),
        Field(description="The curve of the key exchange."),
    ] = ()

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Check that client certificates have authorities, and that the versions leave at least one."""
        for key, what in (("cert", "the certificate's file, PEM"), ("key", "the key's file, PEM")):
            if raw and raw.get(key) is None and raw.get(f"{key}_file") is None:
                yield at((f"{key}_file",), refused(f"missing; expected {what}, or the text itself as {key}"))
        if raw.get("client_auth_type", "NoClientCert") == "NoClientCert":
            message = "is not used with NoClientCert; set client_auth_type: RequireAndVerifyClientCert"
            unused = [key for key in ("client_ca_file", "client_ca") if raw.get(key) is not None]
            if not unused and items(raw.get("client_allowed_sans")):
                unused = ["client_allowed_sans"]
            yield from (at((key,), refused(message)) for key in unused)
        if raw.get("min_version") == "TLS13" and raw.get("max_version") == "TLS12":
            yield at(("max_version",), refused("found 'TLS12', expected at least the min_version (TLS13)"))
        names = [name for name in items(raw.get("cipher_suites")) if isinstance(name, str)]
        if names and openssl_ciphers(names) == "" and raw.get("max_version") == "TLS12":
            yield at(("cipher_suites",), refused("contains only suites of TLS 1.3, but max_version is TLS12"))


class HttpServerConfig(Section):
    """Settings of HTTP: the headers of answers, and `http2`, which is accepted and has no effect."""

    http2: Annotated[bool, Field(description="Accepted for files of other exporters; HTTP/1.1 is used.")] = True
    headers: Annotated[Mapping[str, str], Field(description="Headers that every answer carries.")] = Field(
        default_factory=dict
    )

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Check that only known headers are set, each with an allowed value."""
        headers = raw.get("headers")
        for name, value in headers.items() if isinstance(headers, Mapping) else ():
            allowed = _HEADER_VALUES.get(name)
            if allowed is None:
                yield at(("headers", name), refused(f"cannot be set; expected one of {', '.join(_HEADER_VALUES)}"))
            elif value == "":
                continue
            elif isinstance(value, str) and not re.fullmatch(r"[\x20-\x7e]+", value):
                yield at(("headers", name), refused("contains characters that are not allowed in an HTTP header"))
            elif isinstance(value, str) and allowed and value.lower() not in allowed:
                yield at(("headers", name), refused(f"found '{value}', expected one of {', '.join(allowed)}"))


class RateLimit(Section):
    """The limit of requests; those to the health endpoints are not counted."""

    interval: Annotated[
        float, BeforeValidator(_parse_interval), Field(description="Time between two requests; 0 switches it off.")
    ] = 0.0
    burst: Annotated[int, Field(ge=0, description="Requests that may come at once.")] = 0

    @classmethod
    def cross_check(cls, raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
        """Check that the limit admits at least one request."""
        if raw.get("interval") not in {None, "0", "0s"} and raw.get("burst", "0") == "0":
            yield at(("burst",), refused("missing or 0, which refuses every request; expected at least 1"))


class WebConfig(Section):
    """The whole file; each of its sections may be absent."""

    tls_server_config: TlsServerConfig | None = None
    http_server_config: HttpServerConfig = HttpServerConfig()
    rate_limit: RateLimit = RateLimit()
    basic_auth_users: Annotated[
        Mapping[Annotated[str, BeforeValidator(_parse_user)], Annotated[SecretStr, BeforeValidator(_parse_hash)]],
        Field(description="Users, and the bcrypt hashes of their passwords."),
    ] = Field(default_factory=dict)

    def tls(self) -> TlsSettings | None:
        """Return the server's TLS settings; None for plain HTTP."""
        config = self.tls_server_config
        if config is None or not config.model_fields_set:
            return None
        return TlsSettings(
            cert_file=config.cert_file,
            key_file=config.key_file,
            client_ca_file=config.client_ca_file,
            cert=config.cert,
            key=config.key,
            client_ca=config.client_ca,
            verifies_clients=config.client_auth_type in _VERIFIED,
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
        WebConfigError: the file is wrong; the error holds every fault.
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
