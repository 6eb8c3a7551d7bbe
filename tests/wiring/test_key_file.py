"""A key file: its changes are found, and no call waits long for it."""

import asyncio
import os
import threading
from pathlib import Path

import pytest
from pydantic import SecretStr

from exporter.blocking import one_thread
from exporter.platform.errors import CredentialError
from exporter.platform.http.credential import Credential
from exporter.wiring import key_file
from exporter.wiring.key_file import CHECK_SECONDS, PATIENCE, KeyFile
from tests.turned_clock import TurnedClock
from tests.waiting import until


async def test_a_key_is_read_and_a_new_one_is_found(tmp_path: Path) -> None:
    path, clock = tmp_path / "key", TurnedClock()
    path.write_text("old\n")
    key = KeyFile(path, clock, one_thread("key file"))
    await key.refresh()
    assert key.last_key() == "old"
    path.write_text("\ufeff another\r\n", encoding="utf-8")
    await key.refresh()
    assert key.last_key() == "old", "it was looked at a moment ago"
    clock.now += CHECK_SECONDS
    await key.refresh()
    assert key.last_key() == "another"
    path.write_text("a third\n")
    clock.now += CHECK_SECONDS
    key.start_refresh()
    await until(lambda: key.last_key() == "a third", "what is read beside the calls")
    path.write_text("a fourth\n")
    clock.now += CHECK_SECONDS
    assert await Credential("access_key", key.last_key, key.start_refresh, key.refresh).current_key() == "a fourth"
    path.unlink()
    clock.now += CHECK_SECONDS
    await key.refresh()
    with pytest.raises(CredentialError, match="does not exist"):
        key.last_key()
    path.write_text("a fifth\n")
    clock.now += CHECK_SECONDS
    await key.refresh()
    assert key.last_key() == "a fifth"


@pytest.mark.parametrize(("content", "says"), [(None, "does not exist"), ("", "is empty"), ("|", "is a pipe")])
async def test_what_is_wrong_with_the_file_is_said(tmp_path: Path, content: str | None, says: str) -> None:
    key = KeyFile(path := tmp_path / "key", TurnedClock(), one_thread("key file"))
    if content == "|":
        os.mkfifo(path)
    elif content is not None:
        path.write_text(content)
    with pytest.raises(CredentialError, match="has not been read yet"):
        key.last_key()
    await key.refresh()
    with pytest.raises(CredentialError, match=f"the key or token cannot be read: .*{says}"):
        key.last_key()


async def test_a_file_system_that_does_not_answer_costs_one_moment_and_the_last_key_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, clock, answers = tmp_path / "key", TurnedClock(), threading.Event()
    path.write_text("old")
    key = KeyFile(path, clock, one_thread("key file"))
    await key.refresh()
    looks = 0

    def hang(_path: Path) -> SecretStr:
        nonlocal looks
        looks += 1
        answers.wait()
        return SecretStr("renewed")

    monkeypatch.setattr(key_file, "read_secret", hang)
    monkeypatch.setattr(key_file, "PATIENCE", 0.01)
    path.write_text("renewed")
    clock.now += CHECK_SECONDS
    await asyncio.gather(key.refresh(), key.refresh())
    await until(lambda: looks == 1, "the thread that hangs")
    assert key.last_key() == "old"
    clock.now += PATIENCE * 10
    await key.refresh()
    assert (key.last_key(), looks) == ("old", 1), "no second thread hangs"
    answers.set()
    await until(lambda: key.last_key() == "renewed", "the key that a thread reads")
