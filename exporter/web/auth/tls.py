"""The server's TLS context. It is reloaded when its files change, so that a renewed certificate is served at once."""

import asyncio
import os
import ssl
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from pathlib import Path

from exporter.blocking import blocking
from exporter.foreign.regular_file import read_regular, unreadable
from exporter.log import logger
from exporter.web.auth.tls_settings import TlsSettings, openssl_ciphers

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CURVES = {"CurveP256": "prime256v1", "CurveP384": "secp384r1", "CurveP521": "secp521r1", "X25519": "X25519"}
LONGEST_LOOK = 1.0
# The capacity of a pipe, in bytes.
LARGEST_INLINE = 64 * 1024


class TlsFileError(Exception):
    """A file cannot be used; `key` is the configuration key that names it."""

    def __init__(self, key: str, message: str) -> None:
        self.key = key
        super().__init__(message)


class Pem:
    """A text in PEM form: of a file, or of the configuration itself if it names no file.

    `key` is the configuration key of the text (that of the file has `_file` at its end), and `what` is what the text
    must contain, such as `CERTIFICATE`. Raises TlsFileError if the file cannot be read, or contains no such block.
    """

    def __init__(self, key: str, file: Path | None, text: str | None, what: str) -> None:
        self.name = key if file is None else f"{key}_file"
        self.file = file
        try:
            self.text = (text or "") if file is None else read_regular(file).decode("ascii", "replace")
        except OSError as error:
            raise TlsFileError(self.name, f"{file} {unreadable(error)}") from None
        if f"{what}-----" not in self.text:
            raise TlsFileError(self.name, f"{self} holds no {what.lower()} in PEM form")
        if file is None and len(self.text) > LARGEST_INLINE:
            raise TlsFileError(self.name, f"{self} is over {LARGEST_INLINE // 1024} KiB long; put it into a file")

    def __str__(self) -> str:
        return "the text" if self.file is None else str(self.file)

    @contextmanager
    def path(self) -> Iterator[str]:
        """Return a path from which OpenSSL can read the text once: a pipe, so that no key is written to a disk."""
        if self.file is not None:
            yield str(self.file)
            return
        reading, writing = os.pipe()
        try:
            with os.fdopen(writing, "w", encoding="ascii", errors="replace") as pipe:
                pipe.write(self.text)
            yield f"/dev/fd/{reading}"
        finally:
            os.close(reading)


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """Build a context for accepting connections; raises TlsFileError for a file or an option that cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _set_protocol(context, settings)
    _load_certificate(context, settings)
    if settings.client_auth_type != "NoClientCert":
        _load_authorities(context, settings)
        is_required = settings.client_auth_type == "RequireAndVerifyClientCert"
        context.verify_mode = ssl.CERT_REQUIRED if is_required else ssl.CERT_OPTIONAL
    if settings.client_allowed_sans:
        context.sslobject_class = _checking(frozenset(settings.client_allowed_sans))
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
    if not settings.prefer_server_cipher_suites:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    if settings.curve is not None:
        try:
            context.set_ecdh_curve(_CURVES[settings.curve])
        except (ssl.SSLError, ValueError):
            if not prefers_curve_unset(settings):
                raise TlsFileError("curve_preferences", "this machine's OpenSSL does not have this curve") from None


def prefers_curve_unset(settings: TlsSettings) -> bool:
    """Return whether X25519 is the configured curve and this Python cannot exclude others; OpenSSL prefers it anyway.

    Python 3.11.2 of Debian 12 knows the curves of the EC key type only, and X25519 is not one of them.
    """
    if settings.curve != "X25519":
        return False
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ecdh_curve(_CURVES["X25519"])
    except (ssl.SSLError, ValueError):
        return True
    return False


def _load_certificate(context: ssl.SSLContext, settings: TlsSettings) -> None:
    certificate = Pem("cert", settings.cert_file, settings.cert, "CERTIFICATE")
    secret = None if settings.key is None else settings.key.get_secret_value()
    key = Pem("key", settings.key_file, secret, "PRIVATE KEY")
    if "ENCRYPTED" in key.text:
        raise TlsFileError(key.name, f"{key} is encrypted; expected a key without a passphrase")
    try:
        with certificate.path() as certificate_path, key.path() as key_path:
            context.load_cert_chain(certificate_path, key_path)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            message = f"{key} is not the key of the certificate in {certificate}"
            raise TlsFileError(key.name, message) from None
        raise TlsFileError(certificate.name, f"cannot read {certificate} or its key") from None


def _load_authorities(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Load the authorities that verify client certificates: the system's where none are configured."""
    if settings.client_ca_file is None and settings.client_ca is None:
        context.set_default_verify_paths()
        return
    authorities = Pem("client_ca", settings.client_ca_file, settings.client_ca, "CERTIFICATE")
    try:
        context.load_verify_locations(cadata=authorities.text)
    except (ssl.SSLError, ValueError):
        raise TlsFileError(authorities.name, f"{authorities} holds a broken certificate") from None


def _checking(allowed: frozenset[str]) -> type[ssl.SSLObject]:
    """Return the class of connections that accept a client certificate only with an allowed name."""

    class CheckedConnection(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            certificate = self.getpeercert()
            names = {entry[1] for entry in certificate.get("subjectAltName", ())} if certificate else allowed
            if not names & allowed:
                raise ssl.SSLCertVerificationError("none of the client certificate's names is allowed")

    return CheckedConnection


class ServerTls:
    """The server's TLS: each new connection uses the current content of its files.

    If a file cannot be used, the former context stays in force, and this is logged once.

    Args:
        settings: names the files, which are read at once.
        executor: reads them again.
    """

    def __init__(self, settings: TlsSettings, executor: Executor) -> None:
        self._settings = settings
        self._stamp = _stamp(settings)
        self._current = server_context(settings)
        self._executor = executor
        self._reading: asyncio.Task[None] | None = None

    def replace(self, settings: TlsSettings) -> None:
        """Apply other settings to new connections; if a file cannot be used, the former stay. Raises TlsFileError."""
        stamp = _stamp(settings)
        self._current = server_context(settings)
        self._settings, self._stamp = settings, stamp

    def refresh(self) -> None:
        """Read the files again if they have changed; after a faulty one, the next try is when a file changes again."""
        stamp = _stamp(self._settings)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._current = server_context(self._settings)
        except TlsFileError as error:
            logger().error("TLS file not usable, the old one stays in force", error=str(error))

    async def latest(self) -> ssl.SSLContext:
        """Return the context for the next connection, from the files' current content.

        They are read on a thread; while a disk hangs, the former context is used after a short wait.
        """
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read(), name="TLS files")
        await asyncio.wait((self._reading,), timeout=LONGEST_LOOK)
        return self._current

    async def _read(self) -> None:
        # Where no thread can be started, the next connection tries again.
        with suppress(RuntimeError):
            await blocking(self._executor, self.refresh)


def _stamp(settings: TlsSettings) -> list[tuple[int, int, int] | None]:
    """Return what changes with the content of each file; None for one that cannot be looked at."""
    stamps: list[tuple[int, int, int] | None] = []
    for file in settings.files():
        try:
            status = file.stat()
        except OSError:
            stamps.append(None)
        else:
            stamps.append((status.st_mtime_ns, status.st_size, status.st_ino))
    return stamps
