"""The section of the web configuration file that declares the server's TLS."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr
from pydantic_core import InitErrorDetails

from exporter.validation.section import Section, at, expected, items, refused

# The standard's names of cipher suites, which the file uses, and their names in OpenSSL. TLS 1.3 suites are always on.
_CIPHERS: Mapping[str, str] = {
    "TLS_AES_128_GCM_SHA256": "",
    "TLS_AES_256_GCM_SHA384": "",
    "TLS_CHACHA20_POLY1305_SHA256": "",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
}


def openssl_ciphers(names: Iterable[str]) -> str | None:
    """Translate cipher suites to OpenSSL's names; empty if all are of TLS 1.3, None if a name is unknown."""
    try:
        return ":".join(cipher for cipher in (_CIPHERS[name] for name in names) if cipher)
    except KeyError:
        return None


def _refusing(words: str, *values: str) -> BeforeValidator:
    """Refuse values that other exporters accept; `words` says why."""

    def parse(value: object) -> object:
        if isinstance(value, str) and value in values:
            raise refused(f"found '{value}', {words}")
        return value

    return BeforeValidator(parse)


def _parse_cipher(value: object) -> str:
    if not isinstance(value, str) or openssl_ciphers([value]) is None:
        raise expected("the name of a cipher suite such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
    return value


def _parse_curves(value: object) -> object:
    if isinstance(value, list) and len(value) > 1:
        raise refused(
            f"found {len(value)} items, but Python's TLS accepts only one curve; keep the first or remove all"
        )
    return value


Version = Annotated[
    Literal["TLS12", "TLS13"],
    _refusing("which is no longer safe and not served; expected TLS12 or TLS13", "TLS10", "TLS11"),
]

ClientAuth = Annotated[
    Literal["NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"],
    _refusing(
        "which takes certificates without verifying them, and this server always verifies; "
        "expected NoClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert",
        *("RequestClientCert", "RequireAnyClientCert", "RequireClientCert"),
    ),
]
Curves = Annotated[tuple[Literal["CurveP256", "CurveP384", "CurveP521", "X25519"], ...], BeforeValidator(_parse_curves)]


class TlsSettings(Section):
    """Encryption of connections, and the clients that may connect.

    Certificate, key and authorities are each a file or a text; if both are given, the file is used.
    """

    cert_file: Path | None = Field(default=None, description="The certificate's file, PEM.")
    key_file: Path | None = Field(default=None, description="The key's file, PEM.")
    cert: str | None = Field(default=None, description="The certificate itself, PEM; not used if cert_file is set.")
    key: SecretStr | None = Field(default=None, description="The key itself, PEM; not used if key_file is set.")
    client_auth_type: ClientAuth = Field(default="NoClientCert", description="Whether clients present a certificate.")
    client_ca_file: Path | None = Field(
        default=None, description="Certificates of the authorities of client certificates, PEM."
    )
    client_ca: str | None = Field(
        default=None, description="These certificates as text, PEM; not used if client_ca_file is set."
    )
    client_allowed_sans: tuple[str, ...] = Field(
        default=(), description="Alternative names of which a client's certificate must have one."
    )
    min_version: Version = Field(default="TLS12", description="The lowest TLS version.")
    max_version: Version = Field(default="TLS13", description="The highest TLS version.")
    cipher_suites: tuple[Annotated[str, BeforeValidator(_parse_cipher)], ...] = Field(
        default=(), description="Cipher suites of TLS 1.2; those of TLS 1.3 cannot be chosen."
    )
    prefer_server_cipher_suites: bool = Field(default=True, description="Whether the server's order of ciphers wins.")
    curve_preferences: Curves = Field(default=(), description="The curve of the key exchange.")

    @property
    def curve(self) -> str | None:
        """The curve of the key exchange; None for those of OpenSSL."""
        return next(iter(self.curve_preferences), None)

    def files(self) -> tuple[Path, ...]:
        """Return the files that are read."""
        return tuple(file for file in (self.cert_file, self.key_file, self.client_ca_file) if file is not None)

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
