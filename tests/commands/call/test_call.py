"""`call` against the sandbox: `calls.txt` has what each call sends and prints, and its exit code for scripts.

A case of `calls.txt` has a line `$ WORDS`, as a shell reads them, perhaps after variables or `env -i`; above it may
stand a comment and a fault of the platform. What is below is written. The standard input is `hunter2`; `<x 5000>` is
x 5,000 times.
"""

import json
import re
import shlex
from pathlib import Path

import pytest

from exporter.sandbox import keys
from tests.commands.conftest import Configure, UnusedAddress
from tests.commands.platform import Platform
from tests.commands.shell import Ended, invoke
from tests.commands.terminal import type_in
from tests.golden import assert_golden
from tests.sandbox.test_answers import REPEATED

CALLS = Path(__file__).with_name("calls.txt")
SECRET = "hunter2"
SEVERAL = """\
accounts: [{name: one, base_url: '{url}', api_key: wrong}, {name: two, base_url: '{url}', api_key: {key}}]
databases: [{name: orders, url: '{url}', auth_token: {token}}, {name: billing, url: '{url}', auth_token: wrong}]
"""


def told(case: str, platform: Platform, environ: dict[str, str]) -> str:
    """Run a case; return it with what was printed and sent."""
    given = [line for line in case.splitlines() if line.startswith(("# ", "fault ", "$ "))]
    platform.noted.clear()
    platform.faults.clear()
    for line in given:
        if line.startswith("fault "):
            platform.fail(**json.loads(line.removeprefix("fault ")))
    words = shlex.split(REPEATED.sub(lambda found: found[1] * int(found[2]), given[-1].removeprefix("$ ")))
    if words[:2] == ["env", "-i"]:
        words, environ = words[2:], {}
    while words[0].partition("=")[0].isupper():
        name, _, value = words.pop(0).partition("=")
        environ = {**environ, name: value}
    ended = invoke("call", *words, environ={name: value for name, value in environ.items() if value}, stdin=SECRET)
    assert SECRET not in ended.out + ended.err
    # Above it stands how the command is used.
    err = ended.err[max(0, ended.err.find("Error: ")) :]
    shown = [f"out {line}" for line in ended.out.splitlines()] + [f"err {line}" for line in err.splitlines()]
    shown += [f"sent {method} {path} {body.decode()}".rstrip() for method, path, body in platform.noted]
    # What a resolver says of a name is its own.
    shown = [re.sub(r"\(no\.invalid.*", "(no.invalid…", line)[:300] for line in shown]
    address = platform.url.removeprefix("http://")
    return "\n".join([*given, *shown, f"exit {ended.code}"]).replace(address, "platform")


def test_what_a_call_sends_and_prints_and_how_it_ends(
    platform: Platform, environ: dict[str, str], configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    token = keys.DATABASE_TOKEN_READ_ONLY
    configure(SEVERAL, url=platform.url, key=keys.API_KEY, token=token).rename("several.yml")
    Path("binary").write_bytes(b"\xff")
    Path("empty").touch()
    Path("token").write_bytes("zwei\nZeilen ü\r\n".encode())
    cases = CALLS.read_text(encoding="utf-8").strip().split("\n\n")
    assert_golden("\n\n".join(told(case, platform, environ) for case in cases) + "\n", CALLS)


def test_text_that_is_none_is_misuse(environ: dict[str, str]) -> None:
    ended = invoke("call", "search", "--search=\udcff", environ=environ)
    assert (ended.out, ended.err[:36], ended.code) == ("", "'utf-8' codec can't encode character", 2)


def test_a_person_gets_json_over_several_lines(environ: dict[str, str]) -> None:
    assert type_in("call search --search=router", environ).seen.startswith('{\n  "Query": "router",\n')


def test_a_secret_of_standard_input_is_sent_without_its_last_line_break(
    platform: Platform, environ: dict[str, str]
) -> None:
    words = ("script_add_secret", "--id=7", "--Name=TOKEN", "--Secret=-", "--yes")
    assert invoke("call", *words, environ=environ, stdin="hunter2 with blanks \n").code == 0
    assert platform.last_body == {"Name": "TOKEN", "Secret": "hunter2 with blanks "}


def test_a_platform_that_never_answers_is_given_up(unused_address: UnusedAddress, configure: Configure) -> None:
    path = configure(
        "accounts: [{name: main, base_url: '{url}', api_key: hunter1, timeout: 1s}]", url=unused_address.url
    )
    ended = invoke("call", "search", "--config", path)
    assert ended == Ended("", f"no answer within 1 s (127.0.0.1:{unused_address.port})\n", 3)
