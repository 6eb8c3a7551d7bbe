"""`call` against the sandbox: `calls.txt` has what each call prints and sends, and its exit code for scripts.

A case of `calls.txt` is one of `tests.commands.transcript`. Above it may be a fault of the platform (`fault JSON`),
and below it the requests. The standard input is `hunter 2 ` with a line break.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.sandbox import keys
from tests.commands.conftest import Configure, UnusedAddress
from tests.commands.sandbox_thread import Platform
from tests.commands.shell import Ended, invoke
from tests.commands.terminal import type_in
from tests.commands.transcript import assert_cases, given, printed

CALLS = Path(__file__).with_name("calls.txt")
SECRET = "hunter 2 "
SEVERAL = """\
accounts: [{name: one, base_url: '{url}', api_key: wrong}, {name: two, base_url: '{url}', api_key: {key}}]
databases: [{name: orders, url: '{url}', auth_token: {token}}, {name: billing, url: '{url}', auth_token: wrong}]
"""


def told(case: str, platform: Platform, environ: dict[str, str]) -> Iterator[str]:
    """Run a case; yield what was printed and sent."""
    platform.prepare(given(case))
    shown = printed(case, environ, "call", stdin=f"{SECRET}\r\n")
    assert SECRET not in str(shown)
    shown += [f"sent {method} {path} {body.decode()}".rstrip() for method, path, body in platform.noted]
    yield from (line.replace(platform.url.removeprefix("http://"), "platform") for line in shown)


def test_what_a_call_sends_and_prints_and_how_it_ends(
    platform: Platform, environ: dict[str, str], configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    token = keys.DATABASE_TOKEN_READ_ONLY
    configure(SEVERAL, url=platform.url, key=keys.API_KEY, token=token).rename("several.yml")
    Path("binary").write_bytes(b"\xff")
    Path("empty").touch()
    Path("token").write_bytes("zwei\nZeilen ü\r\n".encode())
    assert_cases(CALLS, lambda case: told(case, platform, environ))


def test_text_that_is_none_is_misuse(environ: dict[str, str]) -> None:
    ended = invoke("call", "search", "--search=\udcff", environ=environ)
    assert (ended.out, ended.err[:36], ended.code) == ("", "'utf-8' codec can't encode character", 2)


def test_a_person_gets_json_over_several_lines(environ: dict[str, str]) -> None:
    assert type_in("call search --search=router", environ).out.startswith('{\n  "Query": "router",\n')


def test_a_platform_that_never_answers_is_given_up(unused_address: UnusedAddress, configure: Configure) -> None:
    path = configure(
        "accounts: [{name: main, base_url: '{url}', api_key: hunter1, timeout: 1s}]", url=unused_address.url
    )
    ended = invoke("call", "search", "--config", path)
    assert ended == Ended("", f"no answer within 1 s (127.0.0.1:{unused_address.port})\n", 3)
