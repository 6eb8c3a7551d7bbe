"""The server's side of TLS: a context that follows its files, so that a renewed certificate is served at once."""

import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from exporter.regular_file import read_regular
from exporter.settings.yaml_file import unreadable

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CURVES = {"CurveP256": "prime256v1", "CurveP384": "secp384r1", "CurveP521": "secp521r1", "X25519": "X25519"}
# The names of the standard, as the file has them, and OpenSSL's; those of TLS 1.3 have none here, they are always on.
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
_Stamp = tuple[tuple[int, int, int] | None, ...]


class TlsFileError(Exception):
    """A file cannot be used; `key` is the configuration's key that names it."""

    def __init__(self, key: str, message: str) -> None:
        self.key = key
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """What a server's TLS is made of, in the web configuration's own terms."""

    cert_file: Path
    key_file: Path
    client_ca_file: Path | None = None
    requires_client_cert: bool = False
    allowed_names: tuple[str, ...] = ()
    min_version: str = "TLS12"
    max_version: str = "TLS13"
    cipher_suites: tuple[str, ...] = ()
    prefers_own_ciphers: bool = True
    curve: str | None = None

    def files(self) -> tuple[Path, ...]:
        """Every file that is read."""
        return tuple(file for file in (self.cert_file, self.key_file, self.client_ca_file) if file is not None)


def openssl_ciphers(names: Iterable[str]) -> str | None:
    """The suites in OpenSSL's words; empty where all are of TLS 1.3, None where a name is unknown."""
    try:
        return ":".join(cipher for cipher in (_CIPHERS[name] for name in names) if cipher)
    except KeyError:
        return None


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """A context for accepting connections.

    Raises:
        TlsFileError: A file cannot be used, or OpenSSL has not got what is asked for.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _set_protocol(context, settings)
    _load_certificate(context, settings)
    if settings.client_ca_file is not None:
        _check_pem("client_ca_file", settings.client_ca_file, "CERTIFICATE")
        try:
            context.load_verify_locations(settings.client_ca_file)
        except ssl.SSLError:
            raise TlsFileError("client_ca_file", f"{settings.client_ca_file} holds a broken certificate") from None
        context.verify_mode = ssl.CERT_REQUIRED if settings.requires_client_cert else ssl.CERT_OPTIONAL
    if settings.allowed_names:
        context.sslobject_class = _checking(frozenset(settings.allowed_names))
    return context


def _set_protocol(context: ssl.SSLContext, settings: TlsSettings) -> None:
    ciphers = openssl_ciphers(settings.cipher_suites)
    is_tls13_alone = bool(settings.cipher_suites) and not ciphers
    context.minimum_version = _VERSIONS["TLS13" if is_tls13_alone else settings.min_version]
    context.maximum_version = _VERSIONS[settings.max_version]
    if ciphers:
        try:
            context.set_ciphers(ciphers)
        except ssl.SSLError:
            raise TlsFileError("cipher_suites", "this machine's OpenSSL has none of these suites") from None
    if not settings.prefers_own_ciphers:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    if settings.curve is not None:
        try:
            context.set_ecdh_curve(_CURVES[settings.curve])
        except (ssl.SSLError, ValueError):
            raise TlsFileError("curve_preferences", "this machine's OpenSSL has not got this curve") from None


def _load_certificate(context: ssl.SSLContext, settings: TlsSettings) -> None:
    _check_pem("cert_file", settings.cert_file, "CERTIFICATE")
    if "ENCRYPTED" in _check_pem("key_file", settings.key_file, "PRIVATE KEY"):
        raise TlsFileError("key_file", f"{settings.key_file} is encrypted; expected a key without a passphrase")
    try:
        context.load_cert_chain(settings.cert_file, settings.key_file)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            message = f"{settings.key_file} is not the key of the certificate in {settings.cert_file}"
            raise TlsFileError("key_file", message) from None
        raise TlsFileError("cert_file", f"{settings.cert_file} or its key is broken") from None


def _check_pem(key: str, path: Path, what: str) -> str:
    try:
        text = read_regular(path).decode("ascii", "replace")
    except OSError as error:
        raise TlsFileError(key, f"{path} {unreadable(error)}") from None
    if f"{what}-----" not in text:
        raise TlsFileError(key, f"{path} holds no {what.lower()} in PEM form")
    return text


def _checking(allowed: frozenset[str]) -> type[ssl.SSLObject]:
    """Connections whose client's certificate, where one is shown, has an allowed name."""

    class CheckedConnection(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            certificate = self.getpeercert()
            names = {entry[1] for entry in certificate.get("subjectAltName", ())} if certificate else allowed
            if not names & allowed:
                raise ssl.SSLCertVerificationError("none of the client certificate's names is allowed")

    return CheckedConnection


class ServerTls:
    """The server's TLS, which follows its files: every connection is made with what they hold now.

    A file that cannot be used leaves what was in force, and is told to `on_error` once.
    """

    def __init__(self, settings: TlsSettings, *, on_error: Callable[[TlsFileError], None]) -> None:
        self._settings = settings
        self._on_error = on_error
        self._stamp = _stamp(settings)
        self._current = server_context(settings)
        self.context: ssl.SSLContext = _following(self._latest)

    def replace(self, settings: TlsSettings) -> None:
        """Serve new connections by other settings from now on.

        Raises:
            TlsFileError: A file cannot be used; what was in force stays.
        """
        stamp = _stamp(settings)
        self._current = server_context(settings)
        self._settings, self._stamp = settings, stamp

    def refresh(self) -> bool:
        """Read the files again if they have changed; whether new ones are in force.

        Raises:
            TlsFileError: A file cannot be used; what was in force stays, and is not tried again before a file changes.
        """
        stamp = _stamp(self._settings)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        self._current = server_context(self._settings)
        return True

    def _latest(self) -> ssl.SSLContext:
        try:
            self.refresh()
        except TlsFileError as error:
            self._on_error(error)
        return self._current


def _stamp(settings: TlsSettings) -> _Stamp:
    return tuple(map(_file_stamp, settings.files()))


def _file_stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class _FollowingContext(ssl.SSLContext):
    """A context that lets another one make each connection, the latest at the time."""

    latest: Callable[[], ssl.SSLContext]

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,  # noqa: FBT001, FBT002 - the standard library's signature
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        return self.latest().wrap_bio(incoming, outgoing, server_side, server_hostname, session)


def _following(latest: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    context = _FollowingContext(ssl.PROTOCOL_TLS_SERVER)
    context.latest = latest
    return context
