"""Fixtures of the commands' tests: platforms, configurations and addresses."""

import select
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from exporter.sandbox import keys
from tests.commands.sandbox_thread import Platform, running

Configure = Callable[..., Path]


@pytest.fixture
def platform() -> Iterator[Platform]:
    """Run a platform with twelve zones, four scripts and three shield zones."""
    with running() as it:
        yield it


@pytest.fixture
def environ(platform: Platform) -> dict[str, str]:
    """The smallest settings that reach the platform and its database."""
    return {
        "EDGE_EXPORTER_BASE_URL": platform.url,
        "EDGE_EXPORTER_API_KEY": keys.API_KEY,
        "PLATFORM_DATABASE_URL": platform.url,
        "PLATFORM_DATABASE_AUTH_TOKEN": keys.DATABASE_TOKEN_FULL,
    }


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """Writes a configuration file; `{url}` and other fields of its text are replaced."""

    def write(text: str, **fields: str) -> Path:
        path = tmp_path / "config.yml"
        filled = dedent(text)
        for name, value in fields.items():
            filled = filled.replace(f"{{{name}}}", value)
        path.write_text(filled, encoding="utf-8")
        return path

    return write


class UnusedAddress:
    """An address that accepts connections and never answers."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.port: int = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def is_called(self) -> bool:
        """Return whether a client has connected."""
        return bool(select.select([self._listener], [], [], 0)[0])


@pytest.fixture
def unused_address(monkeypatch: pytest.MonkeyPatch) -> Iterator[UnusedAddress]:
    """Yield an address; connecting has no separate time limit, because it can be slow on a busy machine."""
    monkeypatch.setattr("exporter.platform.http.transport.CONNECT_SHARE", 600.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield UnusedAddress(listener)
