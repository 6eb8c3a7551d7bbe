"""Only regular files are read; pipes and devices are refused at once, with their type."""

import os
import socket
from pathlib import Path

import pytest

from exporter.foreign import regular_file
from exporter.foreign.regular_file import NotRegularFileError, read_regular


def test_a_regular_file_is_read_through_links_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"some text")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "link") == b"some text"


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotRegularFileError, match="is a pipe, such as '<\\(command\\)' makes"):
        read_regular(tmp_path / "pipe")
    # As if it had taken a file's place after the check.
    monkeypatch.setattr(regular_file, "check_regular", Path.stat)
    with pytest.raises(NotRegularFileError, match="is a pipe"):
        read_regular(tmp_path / "pipe")


def test_what_else_is_no_file_is_refused_by_its_name(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for path, what in ((tmp_path, "directory"), (Path("/dev/zero"), "device"), (tmp_path / "socket", "socket")):
            with pytest.raises(NotRegularFileError, match=f"is a {what}"):
                read_regular(path)
