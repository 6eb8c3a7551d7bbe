"""A new collector is one file and its line in the catalogue: the example of CONTRIBUTING.md, tried in a copy."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.commands.shell import clean
from tests.http_answers import answering
from tests.ports import free_port
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NAME = "dns_zone_traffic"
# What lists all collectors, or all that they write.
AFFECTED = (
    *("tests/commands/test_reference.py", "tests/test_layers.py"),
    *("tests/dashboards/test_remaining.py", "tests/dashboards/test_dashboards.py", "tests/test_operations.py"),
    *("tests/test_golden.py", "tests/test_faults.py::test_a_platform_that_refuses_connections_is_one_failure_a_target"),
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the example's file and its line."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("exporter", "tests", "docs", "dashboards", "deploy"):
        # With the bytecode, but not with the files that become it.
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    for name in ("CONTRIBUTING.md", "README.md", "Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    example = re.search(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    assert example is not None
    (folder / "exporter" / "collectors" / f"{NAME}.py").write_text(example[1])
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


def configured(folder: Path, base_url: str) -> str:
    """Write a configuration file that sets the new collector; return its path."""
    file = folder / "edge.yml"
    file.write_text(
        json.dumps(
            {
                "accounts": [
                    {
                        "name": "main",
                        "base_url": base_url,
                        "api_key": "a-key",
                        "dns_zones": {"discover": False, "ids": [102]},
                        "scripts": {"discover": False},
                        "shield_zones": {"discover": False},
                    }
                ],
                "collectors": {NAME: {"interval": "7s", "stale_after": "1m"}},
                "state": {"path": None},
            }
        )
    )
    return str(file)


def test_what_the_guide_writes_is_all_that_the_tests_need(checkout: Path) -> None:
    """The guide's commands succeed the first time; then nothing else is to be changed by hand."""
    commands = GUIDE.partition("## A new collector")[2].replace("\\\n", "")
    written = re.search(r"^WRITE_GOLDENS=1 \S+ (.*)\nmake generate$", commands, re.MULTILINE)
    assert written is not None
    make = (ROOT / "Makefile").read_text(encoding="utf-8").partition("generate: ")[2].partition("\n\n")[0]
    generated = re.findall(r"^\t\$\(BIN\)/python (.*)", make, re.MULTILINE)
    assert len(generated) == 4
    alone = ("-n", "0", "-q", "-p", "no:cacheprovider")
    done = [python(checkout, *written[1].split(), *alone, WRITE_GOLDENS="1")]
    done += [python(checkout, *words.split()) for words in generated]
    done += [python(checkout, "-m", "pytest", *alone, "-m", "not hypothesis", *AFFECTED)]
    assert [(ended.args[1:], ended.stdout[-5000:] + ended.stderr[-1000:]) for ended in done if ended.returncode] == []


def test_the_daemon_serves_its_family(checkout: Path, tmp_path: Path) -> None:
    port = free_port()
    with answering(lambda *_: (200, b'{"TotalQueriesServed": 7}')) as base_url:
        file = configured(tmp_path, base_url)
        process = subprocess.Popen(
            [sys.executable, "-m", "exporter", "run", "--config", file, "--web.listen", f"127.0.0.1:{port}"],
            cwd=checkout,
            env=clean({"PYTHONPATH": str(checkout)}),
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            served = until_served(process, f"http://127.0.0.1:{port}/metrics", "edge_dns_zone_active{")
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)
    assert re.findall(r"^edge_dns_zone_active\{.*", served, re.MULTILINE) == [
        'edge_dns_zone_active{account="main",domain="",zone_id="102"} 1.0'
    ]
    assert f'edge_exporter_collector_interval_seconds{{collector="{NAME}"}} 7.0' in served


def until_served(process: subprocess.Popen[str], url: str, text: str) -> str:
    """Repeat a request until the answer contains a text, the process has ended, or the time is over."""
    answered = ""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
        try:
            answer = httpx.get(url, timeout=PATIENCE)
        except httpx.TransportError:
            continue
        answered = answer.text
        if text in answered:
            return answered
    raise AssertionError(f"no {text!r} in {answered}")
