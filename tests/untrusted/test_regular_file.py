"""Only regular files are read; `tests/settings` has the refusals of pipes, devices and folders."""

import errno
import os
import socket
from pathlib import Path
from unittest.mock import Mock

import pytest

from exporter.untrusted.regular_file import UnreadableError, read_regular


def test_a_regular_file_is_read_through_links_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"some text")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "link") == b"some text"


def test_a_socket_is_refused_by_its_name(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        with pytest.raises(UnreadableError, match="is a socket"):
            read_regular(tmp_path / "socket")


def test_a_pipe_that_replaces_a_checked_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "file")
    of_a_file = Path(__file__).stat()
    monkeypatch.setattr(Path, "stat", lambda _path: of_a_file)
    with pytest.raises(UnreadableError, match="is a pipe"):
        read_regular(tmp_path / "file")


UNREADABLE: dict[Exception, str] = {
    **{OSError(number, os.strerror(number)): "does not exist" for number in (errno.ENOENT, errno.ENOTDIR)},
    OSError(errno.EACCES, ""): "cannot be read: permission denied",
    OSError(errno.EIO, "Input/output error"): "cannot be read: input/output error",
    OSError(errno.ENAMETOOLONG, "File name too long"): "cannot be read: file name too long",
    ValueError("embedded null byte"): "cannot be read: no file can have this name",
}


@pytest.mark.parametrize(("error", "reason"), UNREADABLE.items(), ids=str)
def test_why_a_file_cannot_be_read_is_said_in_our_words(error: Exception, reason: str) -> None:
    with pytest.raises(UnreadableError) as refused:
        read_regular(Mock(stat=Mock(side_effect=error), __str__=lambda _: "name"))
    assert (refused.value.reason, str(refused.value)) == (reason, f"name {reason}")
