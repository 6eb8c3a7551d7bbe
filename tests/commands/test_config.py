"""`config show` as JSON; `tests/settings/sources.txt` and `tests/settings/files/` have its text."""

import json
from pathlib import Path

from tests.commands.shell import invoke
from tests.settings.configurations import ACCOUNT, write


def test_the_json_has_the_path_the_value_and_the_origin_of_each_line(tmp_path: Path) -> None:
    config = write(tmp_path, f'{ACCOUNT}series: {{deny: [edge_script_é, "a\\u202e\\x7f"]}}\n')
    text, as_json = (invoke("config", "show", "-o", form, "--config", config) for form in ("text", "json"))
    assert "\u202e" not in as_json.out
    lines = {one["path"]: f"{json.dumps(one['value'])}  # {one['origin']}" for one in json.loads(as_json.out)}
    written = dict(line.split(": ", 1) for line in text.out.replace("é", "\\u00e9").splitlines())
    assert (lines, as_json.err, as_json.code) == (written, "", 0)
