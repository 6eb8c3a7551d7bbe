"""The change of a refused key is noticed."""

import pytest

from exporter.platform.errors import CredentialError
from exporter.platform.http.credential import Credential


class File:
    """Replaces the source of the key; None means that it cannot be read."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __call__(self) -> str:
        """Return the key, as a credential reads it."""
        if self.text is None:
            raise CredentialError("the key cannot be read")
        return self.text


def test_a_key_that_was_refused_is_renewed_once_it_is_another() -> None:
    file = File("old")
    credential = Credential("access_key", file)
    assert (credential.is_refused(), credential.is_renewed()) == (False, False)
    credential.refuse("old")
    assert (credential.is_refused(), credential.is_renewed()) == (True, False)
    file.text = "new"
    assert [credential.is_renewed(), credential.is_renewed(), credential.is_refused()] == [True, False, False]


def test_a_key_that_was_taken_may_change_without_a_word() -> None:
    file = File("old")
    credential = Credential("bearer", file)
    credential.refuse("old")
    credential.accept()
    file.text = "new"
    assert not credential.is_renewed()


def test_the_answer_to_an_older_key_makes_the_newer_one_a_renewed_one() -> None:
    file = File("old")
    credential = Credential("access_key", file)
    file.text = "new"
    credential.refuse("old")
    assert credential.is_renewed()


async def test_a_key_that_could_not_be_read_is_renewed_once_it_can() -> None:
    file = File(None)
    credential = Credential("access_key", file)
    with pytest.raises(CredentialError):
        await credential.current()
    assert not credential.is_renewed()
    file.text = "new"
    assert credential.is_renewed()


def test_a_key_that_no_header_can_carry_is_refused_before_it_is_sent() -> None:
    file = File("not\na header")
    credential = Credential("access_key", file)
    with pytest.raises(CredentialError):
        credential.header("not\na header")
    assert (credential.is_refused(), credential.is_renewed()) == (True, False)
