"""A new collector is one file and its line in the catalogue: the example of CONTRIBUTING.md, tried in a copy."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.shell import clean

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NAME = "dns_zone_traffic"
# The tests that list all collectors, or all of their files.
AFFECTED = (
    *("tests/commands/test_reference.py", "tests/test_layers.py", "tests/web/page/test_page.py"),
    *(
        "tests/dashboards/test_queries.py::test_every_family_stands_on_a_dashboard",
        "tests/dashboards/test_dashboards.py",
    ),
    "tests/targets/test_target_states.py::test_what_was_not_polled_yet_is_pending_in_the_metric_the_api_and_the_sentence",
    *("tests/test_golden.py", "tests/test_faults.py::test_a_platform_that_refuses_connections_is_one_failure_a_target"),
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the example's file and its line."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("exporter", "tests", "docs", "dashboards", "deploy"):
        # With the bytecode, but not with the files that become it.
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    example = GUIDE.partition("```python\n")[2].partition("```")[0]
    (folder / "exporter" / "collectors" / f"{NAME}.py").write_text(example)
    catalogue = folder / "exporter" / "collectors" / "catalogue.py"
    text = catalogue.read_text()
    text = text.replace("    dns_statistics,\n", f"    dns_statistics,\n    {NAME},\n", 1)
    text = text.replace("    dns_statistics.COLLECTOR,\n", f"    dns_statistics.COLLECTOR,\n    {NAME}.COLLECTOR,\n", 1)
    catalogue.write_text(text)
    return folder


def python(checkout: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a module or a script of the copy, and wait for its end."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=checkout,
        env=clean({"PYTHONPATH": str(checkout), **environ}),
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_the_guide_writes_is_all_that_the_tests_need(checkout: Path) -> None:
    """The guide's commands succeed the first time; nothing else has to be changed by hand."""
    commands = GUIDE.partition("## A new collector")[2].replace("\\\n", "")
    written = re.search(r"^WRITE_GOLDENS=1 \S+ (.*)\nmake generate$", commands, re.MULTILINE)
    assert written is not None
    make = (ROOT / "Makefile").read_text(encoding="utf-8").partition("generate: ")[2].partition("\n\n")[0]
    generated = re.findall(r"^\t\$\(BIN\)/python (.*)", make, re.MULTILINE)
    assert len(generated) == 3
    alone = ("-n", "0", "-q", "-p", "no:cacheprovider")
    done = [python(checkout, *written[1].split(), *alone, WRITE_GOLDENS="1")]
    done += [python(checkout, *words.split()) for words in generated]
    done += [python(checkout, "-m", "pytest", *alone, "-m", "not hypothesis", *AFFECTED)]
    assert [(ended.args[1:], ended.stdout[-5000:] + ended.stderr[-1000:]) for ended in done if ended.returncode] == []
