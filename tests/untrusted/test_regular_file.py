"""Only regular files are read; `tests/settings` has the refusals of pipes, devices and folders."""

import socket
from pathlib import Path

import pytest

from exporter.untrusted.regular_file import NotRegularFileError, read_regular


def test_a_regular_file_is_read_through_links_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"some text")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "link") == b"some text"


def test_a_socket_is_refused_by_its_name(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        with pytest.raises(NotRegularFileError, match="is a socket"):
            read_regular(tmp_path / "socket")
