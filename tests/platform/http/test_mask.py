"""Secrets are replaced in texts and bodies, and nothing else is."""

import json

from hypothesis import given
from hypothesis import strategies as st

from exporter.platform.http.mask import body_without_secrets, without_secrets

KEY = "0f3c1a52-key/of+an=account"


@given(text=st.text("abcx"), secrets=st.lists(st.text("abc", min_size=1)))
def test_a_text_holds_no_secret_and_is_the_same_without_one(text: str, secrets: list[str]) -> None:
    masked = without_secrets(text, secrets)
    assert [secret for secret in secrets if secret in masked] == []
    assert (masked == text) == (not any(secret in text for secret in secrets))


def test_of_secrets_that_contain_each_other_no_part_remains() -> None:
    assert without_secrets("a key-0123456789-more", ["key-0123456789", "key-0123456789-more"]) == "a ***"
    body = body_without_secrets(b"a key-0123456789-more", ["key-0123456789", "key-0123456789-more"])
    assert body == b"a ***"


def test_a_body_holds_no_secret_that_is_not_too_short_for_that() -> None:
    body = json.dumps({"Name": f"zone of {KEY}", "Id": "short key"}).encode()
    assert json.loads(body_without_secrets(body, [KEY, "short key", "\udc80 of a file's name"])) == {
        "Name": "zone of ***",
        "Id": "short key",
    }
