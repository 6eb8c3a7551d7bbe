"""The server's TLS: the settings, and the context, which is replaced when the files change."""

import asyncio
import os
import ssl
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import SecretStr

from exporter.log import logger
from exporter.untrusted.regular_file import UnreadableError, read_regular
from exporter.validation.configuration_errors import ConfigurationError, ConfigurationFault
from exporter.validation.section import Conflict, Section

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
# The cipher suites of TLS 1.3, which Python cannot select.
_TLS13_SUITES = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
# The name of a cipher suite of TLS 1.2 → its name in OpenSSL.
_OPENSSL_NAMES: Mapping[str, str] = {
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
}


class Pem(NamedTuple):
    """A certificate, a private key or authorities: the name of the setting, and the PEM text (None: not set)."""

    config_key: str
    text: str | None


class TlsSettingError(ConfigurationError):
    """A TLS setting, or the file that it names, cannot be used; `key` is the setting's key in `tls_server_config`."""

    def __init__(self, key: str, message: str) -> None:
        self.key, self.message = key, message
        super().__init__([ConfigurationFault(message, f"tls_server_config.{key}")])


class TlsSettings(Section):
    """The TLS settings of the web configuration file.

    Certificate, key and authorities can be set as a file or as a text, in PEM form; if both are set, the file is used.
    `prefer_server_cipher_suites` has no effect, as in other exporters. `curve_preferences` has no effect, because
    Python cannot order curves.
    """

    cert_file: Path | None = None
    cert: SecretStr | None = None
    key_file: Path | None = None
    key: SecretStr | None = None
    client_auth_type: Literal["NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"] = "NoClientCert"
    client_ca_file: Path | None = None
    client_ca: SecretStr | None = None
    client_allowed_sans: tuple[str, ...] = ()
    min_version: Literal["TLS12", "TLS13"] = "TLS12"
    max_version: Literal["TLS12", "TLS13"] = "TLS13"
    cipher_suites: tuple[Literal[*_TLS13_SUITES, *_OPENSSL_NAMES], ...] = ()  # type: ignore[valid-type] # names above
    prefer_server_cipher_suites: bool = True
    curve_preferences: tuple[str, ...] = ()

    def conflicts(self) -> Iterator[Conflict]:
        """Require a certificate, a private key, and a `client_auth_type` that fits the other `client_` settings."""
        for key in ("cert", "key"):
            if getattr(self, key) is None and getattr(self, f"{key}_file") is None:
                yield (f"{key}_file",), f"missing; expected a file in PEM form, or its text as {key}"
        requires = "RequireAndVerifyClientCert"
        for key in ("client_ca_file", "client_ca"):
            if self.client_auth_type == "NoClientCert" and getattr(self, key):
                yield (key,), f"is not used with NoClientCert; set client_auth_type: {requires}"
        if self.client_auth_type != requires and self.client_allowed_sans:
            yield ("client_allowed_sans",), f"needs client_auth_type: {requires}"


def read_pems(settings: TlsSettings) -> list[Pem]:
    """Read the certificate, the key and the authorities; raises TlsSettingError if a file cannot be read."""
    return [_read_pem(settings, key) for key in ("cert", "key", "client_ca")]


def _read_pem(settings: TlsSettings, key: str) -> Pem:
    file: Path | None = getattr(settings, f"{key}_file")
    text: SecretStr | None = getattr(settings, key)
    if file is None:
        return Pem(key, None if text is None else text.get_secret_value())
    try:
        return Pem(f"{key}_file", read_regular(file).decode("ascii", "replace"))
    except UnreadableError as error:
        # The private key may have been given in place of the file's name: the message must not show the value.
        raise TlsSettingError(f"{key}_file", error.reason if key == "key" else str(error)) from None


def server_context(settings: TlsSettings, pems: list[Pem]) -> ssl.SSLContext:
    """Build a context for accepting connections; raises TlsSettingError if a setting or a PEM cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ciphers = [_OPENSSL_NAMES[suite] for suite in settings.cipher_suites if suite in _OPENSSL_NAMES]
    is_tls13_alone = bool(settings.cipher_suites) and not ciphers
    context.minimum_version = _VERSIONS["TLS13" if is_tls13_alone else settings.min_version]
    context.maximum_version = _VERSIONS[settings.max_version]
    if context.minimum_version > context.maximum_version:
        raise TlsSettingError("max_version", "excludes TLS13, the only version that min_version or cipher_suites allow")
    if ciphers:
        with _refusing("cipher_suites", "this machine's OpenSSL has none of these suites"):
            context.set_ciphers(":".join(ciphers))

    certificate, key, authorities = pems
    wrong = "is encrypted, too weak, not in PEM form, or not the key of the certificate; or the certificate is broken"
    with _refusing(key.config_key, wrong), _in_memory(certificate) as certificate_path, _in_memory(key) as key_path:
        # Without `password`, OpenSSL would ask on the terminal for the password of an encrypted key.
        context.load_cert_chain(certificate_path, key_path, password="")
    if settings.client_auth_type != "NoClientCert":
        _require_client_checks(context, settings, authorities)
    return context


def _require_client_checks(context: ssl.SSLContext, settings: TlsSettings, authorities: Pem) -> None:
    is_required = settings.client_auth_type == "RequireAndVerifyClientCert"
    context.verify_mode = ssl.CERT_REQUIRED if is_required else ssl.CERT_OPTIONAL
    if authorities.text is None:
        context.set_default_verify_paths()
    else:
        with _refusing(authorities.config_key, "is broken, or has no certificate in PEM form"):
            context.load_verify_locations(cadata=authorities.text)
    if settings.client_allowed_sans:
        context.sslobject_class = _checked_connection_class(frozenset(settings.client_allowed_sans))


@contextmanager
def _refusing(key: str, message: str) -> Iterator[None]:
    try:
        yield
    except (ssl.SSLError, ValueError):
        raise TlsSettingError(key, message) from None
    except OSError as error:
        raise TlsSettingError(key, f"cannot be used: {error.strerror}") from None


@contextmanager
def _in_memory(pem: Pem) -> Iterator[str]:
    """Yield a path to a PEM in memory: Python loads keys from files, but a key must not be written to a disk."""
    with os.fdopen(os.memfd_create("pem"), "w", encoding="ascii", errors="replace") as file:
        file.write(pem.text or "")
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"


def _checked_connection_class(allowed: frozenset[str]) -> type[ssl.SSLObject]:
    class CheckedConnection(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            certificate = self.getpeercert() or {}
            # An entry is a kind and a value, such as ("DNS", "prometheus.example").
            if allowed.isdisjoint(entry[1] for entry in certificate.get("subjectAltName", ())):
                raise ssl.SSLCertVerificationError("none of the client certificate's names is allowed")

    return CheckedConnection


class ServerTls:
    """Keeps the server's TLS context, and replaces it when the content of the files changes.

    `executor` reads the files again for `next_context`. If a file cannot be used any more, the former context stays.
    `__init__` raises TlsSettingError if the settings or the files cannot be used.
    """

    def __init__(self, settings: TlsSettings, executor: Executor) -> None:
        self._settings = settings
        self._executor = executor
        self._fault = ""
        self._reading: asyncio.Future[None] | None = None
        self._pems = read_pems(settings)
        self._current = server_context(settings, self._pems)

    def next_context(self) -> ssl.SSLContext:
        """Return the context for the next connection, and begin to read the files for later ones in the background."""
        if self._reading is None or self._reading.done():
            # If no thread can be started now, the next call tries again.
            with suppress(RuntimeError):
                self._reading = asyncio.get_running_loop().run_in_executor(self._executor, self._refresh)
        return self._current

    def _refresh(self) -> None:
        try:
            pems = read_pems(self._settings)
            if pems != self._pems:
                self._current = server_context(self._settings, pems)
                self._pems = pems
            self._fault = ""
        except TlsSettingError as error:
            if error.message != self._fault:
                logger().error("TLS file not usable, the old one stays in force", key=error.key, error=error.message)
            self._fault = error.message
