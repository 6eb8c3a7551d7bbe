"""Configuration files and what `config show` prints of them: the cases in `files/`.

A case is a line `### words`, then the file, then `=>`, the exit code and what is printed, without the defaults, which
docs/configuration.md has. A file without accounts and databases has an account of the environment's.
"""

from pathlib import Path

import pytest

from tests.commands.shell import invoke
from tests.golden import assert_golden
from tests.settings.configurations import ENOUGH

FILES = sorted((Path(__file__).parent / "files").glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_gives_the_messages_of_its_case(path: Path, tmp_path: Path) -> None:
    cases = path.read_text(encoding="utf-8").split("### ")[1:]
    config = tmp_path / "edge.yml"
    shown = ""
    for case in cases:
        words, _, rest = case.partition("\n")
        text = rest.partition("=>")[0]
        config.write_text(text, encoding="utf-8")
        environ = {} if "accounts:" in text or "databases:" in text else ENOUGH
        ended = invoke("config", "show", "--config", config, environ=environ)
        lines = (ended.out + ended.err).replace(f"{tmp_path}/", "").splitlines(keepends=True)
        printed = "".join(line for line in lines if not line.endswith("# default\n"))
        shown += f"### {words}\n{text}=> {ended.code}\n{printed}"
    assert_golden(shown, path)
