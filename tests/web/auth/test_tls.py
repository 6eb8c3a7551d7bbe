import asyncio
import errno
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from starlette.responses import PlainTextResponse
from structlog.testing import capture_logs

from exporter.blocking import blocking, one_thread
from exporter.http_server.connections import Connections
from exporter.http_server.loop_server import LoopServer, bind
from exporter.web.auth.tls import ServerTls, TlsSettingError, TlsSettings, read_pems, server_context
from tests.waiting import END_SECONDS, PATIENCE, until
from tests.web.certificates import Authority

GREETING = b"hello"
SUITES = ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")
WRONG_PAIR = "is encrypted, too weak, not in PEM form, or not the key of the certificate; or the certificate is broken"


def replace(settings: TlsSettings, **changes: object) -> TlsSettings:
    """Return settings with other values."""
    return TlsSettings.model_validate(settings.model_dump(exclude_unset=True) | changes)


def context_of(settings: TlsSettings) -> ssl.SSLContext:
    """Return the context of these settings and of their files."""
    return server_context(settings, read_pems(settings))


@asynccontextmanager
async def serving(tls: ServerTls) -> AsyncIterator[int]:
    """Run a server that answers with a greeting, and yield its port."""
    bound = bind("127.0.0.1", 0)
    server = LoopServer(bound, PlainTextResponse(GREETING), Connections(1000), tls.next_context)
    server.start()
    try:
        yield bound.getsockname()[1]
    finally:
        await server.stop()


async def connect(port: int, client: ssl.SSLContext) -> tuple[bytes, str, int]:
    """Return the body of the answer, the version of TLS, and the serial number of the server's certificate."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client, server_hostname="localhost")
    try:
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        _, _, body = (await reader.read()).partition(b"\r\n\r\n")
        connection = writer.get_extra_info("ssl_object")
        return body, connection.version(), int(connection.getpeercert()["serialNumber"], 16)
    finally:
        writer.close()


async def is_let_in(port: int, client: ssl.SSLContext) -> bool:
    """Return whether the server accepts this client; it closes the connections of the others."""
    try:
        received, _, _ = await connect(port, client)
    except (ssl.SSLError, ConnectionError):
        return False
    return received == GREETING


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def settings(authority: Authority) -> TlsSettings:
    cert, key = authority.issue()
    return TlsSettings(cert_file=cert, key_file=key)


@pytest.mark.parametrize(
    ("changes", "newest", "old"),
    [
        ({}, "TLSv1.3", True),
        ({"max_version": "TLS12"}, "TLSv1.2", True),
        ({"min_version": "TLS13"}, "TLSv1.3", False),
        ({"cipher_suites": ("TLS_AES_128_GCM_SHA256",)}, "TLSv1.3", False),
        ({"cipher_suites": SUITES}, "TLSv1.3", True),
    ],
)
async def test_a_connection_has_the_newest_version_within_the_bounds(
    authority: Authority, settings: TlsSettings, changes: dict[str, object], newest: str, *, old: bool
) -> None:
    client = authority.client()
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    async with serving(ServerTls(replace(settings, **changes), one_thread("web files"))) as port:
        assert (await connect(port, authority.client()))[:2] == (GREETING, newest)
        assert await is_let_in(port, client) == old


def test_the_cipher_suites_are_those_that_are_named(settings: TlsSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    context = context_of(replace(settings, cipher_suites=SUITES))
    named = {str(cipher["name"]) for cipher in context.get_ciphers() if cipher["protocol"] != "TLSv1.3"}
    assert named == {"ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"}
    monkeypatch.setattr(ssl.SSLContext, "set_ciphers", Mock(side_effect=ssl.SSLError))
    with pytest.raises(TlsSettingError, match="OpenSSL has none of these suites"):
        context_of(replace(settings, cipher_suites=SUITES))


@pytest.mark.parametrize(
    ("changes", "let_in"),
    [
        ({"client_auth_type": "RequireAndVerifyClientCert"}, {"ours", "other"}),
        ({"client_auth_type": "VerifyClientCertIfGiven"}, {"none", "ours", "other"}),
        (
            {"client_auth_type": "RequireAndVerifyClientCert", "client_allowed_sans": ("prometheus.example.org",)},
            {"ours"},
        ),
        # Without a file, the certificates are verified by the authorities of the system.
        ({"client_auth_type": "RequireAndVerifyClientCert", "client_ca_file": None}, {"ours", "other"}),
    ],
)
async def test_clients_certificates_are_verified(
    authority: Authority,
    settings: TlsSettings,
    changes: dict[str, object],
    let_in: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    foreign = Authority(authority.file.parent, "foreign")
    clients = {
        "none": authority.client(),
        "ours": authority.client(authority.issue("prometheus.example.org", "prometheus")),
        "other": authority.client(authority.issue("other.example.org", "other")),
        "foreign": authority.client(foreign.issue("prometheus.example.org", "foreign")),
    }
    verifying = replace(settings, **{"client_ca_file": authority.file} | changes)
    async with serving(ServerTls(verifying, one_thread("web files"))) as port:
        assert {name for name, client in clients.items() if await is_let_in(port, client)} == let_in


async def test_neither_a_stop_nor_the_next_client_waits_for_a_handshake(
    settings: TlsSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exporter.http_server.loop_server.HANDSHAKE_SECONDS", 2 * PATIENCE)
    bound, connections = bind("127.0.0.1", 0), Connections(1)
    port, number = bound.getsockname()[1], bound.fileno()
    tls = ServerTls(settings, one_thread("web files"))
    server = LoopServer(bound, PlainTextResponse(""), connections, tls.next_context)
    server.start()
    # No handshake at all.
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    await reader.read()
    await until(lambda: connections.excess <= 0)
    writer.close()
    oldest = await asyncio.open_connection("127.0.0.1", port)
    await until(lambda: connections.excess > 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async with asyncio.timeout(END_SECONDS):
        assert await oldest[0].read() == b""
        await server.stop()
        assert not asyncio.get_running_loop().remove_reader(number)
        assert await reader.read() == b""
    oldest[1].close()
    writer.close()


async def test_a_renewed_certificate_is_served_where_a_file_can_be_opened(
    authority: Authority, settings: TlsSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = one_thread("web files")
    async with serving(ServerTls(settings, files)) as port:
        before = await connect(port, authority.client())
        # The reading that the connection began has ended.
        await blocking(files, int)
        authority.issue()
        # Its date may be that of a copy.
        os.utime(settings.cert_file or "", (1, 1))
        with monkeypatch.context() as crowded, capture_logs() as logs:
            crowded.setattr(os, "memfd_create", Mock(side_effect=OSError(errno.EMFILE, "Too many open files")))
            await connect(port, authority.client())
            await until(lambda: logs, "a read that fails")
            same = await connect(port, authority.client())
        async with asyncio.timeout(PATIENCE):
            while (after := await connect(port, authority.client()))[2] == before[2]:
                pass
    assert before[2] == same[2] != after[2]


async def test_a_broken_renewal_leaves_what_was_and_is_reported_once_each_time(
    tmp_path: Path, authority: Authority, settings: TlsSettings
) -> None:
    greetings, files = [], one_thread("web files")
    file, key = tmp_path / "server.crt", tmp_path / "server.key"
    other, own = ([one.read_text() for one in authority.issue()] for _ in range(2))
    with capture_logs() as logs:
        async with serving(ServerTls(settings, files)) as port:
            for times, pair in enumerate((own, other, own), start=1):
                before = await connect(port, authority.client())
                await blocking(files, int)
                file.write_text("half a file")
                greetings.append(await is_let_in(port, authority.client()))
                await until(lambda times=times: len(logs) == times, "a read that fails")  # type: ignore[misc]
                greetings += [await is_let_in(port, authority.client()) for _ in range(3)]
                for path, text in zip((file, key), pair, strict=True):
                    path.write_text(text)
                async with asyncio.timeout(PATIENCE):
                    while ((await connect(port, authority.client()))[2] == before[2]) != (times == 1):
                        pass
    said = ("TLS file not usable, the old one stays in force", "key_file", WRONG_PAIR)
    assert (greetings, [(line["event"], line["key"], line["error"]) for line in logs]) == ([True] * 12, [said] * 3)


def test_each_wrong_file_is_named_with_the_key_that_names_it(
    tmp_path: Path, authority: Authority, settings: TlsSettings
) -> None:
    _, other = authority.issue(name="other")
    nothing, broken, encrypted, empty = (tmp_path / name for name in ("none", "broken", "encrypted", "empty"))
    empty.touch()
    broken.write_text("-----BEGIN CERTIFICATE-----\nhunter2\n-----END CERTIFICATE-----\n")
    encrypted.write_bytes(
        load_pem_private_key(other.read_bytes(), None).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"hunter2")
        )
    )
    clients = {"client_auth_type": "VerifyClientCertIfGiven"}
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("cert_file", {"cert_file": nothing}, "none does not exist"),
        ("key_file", {"cert_file": broken}, WRONG_PAIR),
        ("key_file", {"key_file": tmp_path}, "is a directory, expected a file"),
        *(("key_file", {"key_file": file}, WRONG_PAIR) for file in (settings.cert_file, other, encrypted)),
        ("key", {"key_file": None, "key": "hunter2"}, WRONG_PAIR),
        *(
            ("client_ca_file", {**clients, "client_ca_file": file}, "is broken, or has no certificate in PEM form")
            for file in (broken, empty)
        ),
        ("client_ca", {**clients, "client_ca": "hunter2"}, "is broken, or has no certificate in PEM form"),
    ]
    for key, changes, message in wrong:
        with pytest.raises(TlsSettingError) as refused:
            context_of(replace(settings, **changes))
        assert (refused.value.key, refused.value.message.replace(f"{tmp_path}{os.sep}", "")) == (key, message)
