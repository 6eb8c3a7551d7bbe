"""The command line as a whole."""

import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest

import exporter
from exporter.cli import COMMANDS
from tests.commands.shell import PROGRAM, Ended, clean, invoke, process
from tests.waiting import wait_until


def test_the_version_is_that_of_the_installed_package() -> None:
    assert invoke("--version") == Ended(f"edge-exporter, version {version('edge-exporter')}\n", "", 0)


def test_a_source_tree_that_is_not_installed_says_that_its_version_is_unknown() -> None:
    # Without site-packages there are no packages but Python's own.
    code = "import sys; sys.path.insert(0, sys.argv[1]); import exporter; print(exporter.__version__)"
    tree = Path(exporter.__file__).parents[1]
    done = subprocess.run([sys.executable, "-S", "-P", "-c", code, tree], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0+unknown\n", "")


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_lists_every_command_with_a_sentence(word: str) -> None:
    ended = invoke(word)
    listed = " ".join(ended.out[ended.out.index("Commands:") :].split())
    assert listed == "Commands: " + " ".join(f"{name} {sentence}" for name, sentence in COMMANDS.items())
    assert (ended.err, ended.code) == ("", 0)


def test_a_reader_that_has_read_enough_is_no_reason_for_a_trace() -> None:
    with subprocess.Popen(
        [*PROGRAM, "metrics", "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.parametrize("words", ["call --help", "metrics"])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_or_a_narrow_encoding_is_no_reason_for_a_trace(words: str, closed: str) -> None:
    narrow = clean() | {"PYTHONIOENCODING": "latin-1"}
    shell = ["sh", "-c", f'"$@" {words} {closed}', "sh", *PROGRAM]
    ended = subprocess.run(shell, capture_output=True, check=False, env=narrow)
    assert (ended.stderr, ended.returncode) == (b"", 0)
    assert bool(ended.stdout) == (">&-" not in closed.split())


def test_what_is_logged_to_a_closed_stream_goes_nowhere() -> None:
    """The text must not go to the file or socket that was opened first and got the stream's number."""
    code = (
        "import os, tempfile, exporter.__main__ as program; program.fill_closed_streams()\n"
        "with tempfile.TemporaryFile() as file: os.write(2, b'said'); raise SystemExit(os.fstat(file.fileno()).st_size)"
    )
    ended = subprocess.run(["sh", "-c", '"$@" 2>&-', "sh", sys.executable, "-c", code], check=False, env=clean())
    assert ended.returncode == 0


def test_whether_a_configuration_may_be_read_is_seen_when_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unreadable file is a fault of the configuration (1), as with the variable, and no misuse (2)."""
    config = tmp_path / "edge.yml"
    config.write_text("collecters: {}\n")
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    ended = invoke("check", "--offline", "--config", config)
    assert ended.code == 1
    assert "did you mean 'collectors'?" in ended.err


@pytest.mark.parametrize("zone", ["MSK-3", "'Europe/Berlin'", "/nowhere"])
def test_variables_that_libraries_read_change_nothing(zone: str, tmp_path: Path) -> None:
    ports = ("--listen", "127.0.0.1:0", "--sandbox-port", "0")
    ignored = ("PROMETHEUS_MULTIPROC_DIR", "prometheus_multiproc_dir", "WEB_CONCURRENCY", "OTEL_SDK_DISABLED")
    junk = {**dict.fromkeys(ignored, "x"), "SSLKEYLOGFILE": "keys", "ALL_PROXY": "http://127.0.0.1:9", "TZ": zone}
    with process("demo", *ports, environ=junk, cwd=tmp_path) as demo:
        metrics = demo.read_addresses()["metrics"]
        wait_until(
            lambda: 'edge_up{account="demo"} 1.0' in httpx.get(metrics, trust_env=False).text,
            "the demo's account to be up",
        )
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_clear_line() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([*PROGRAM, "metrics"], stdout=full, stderr=subprocess.PIPE, check=False, env=clean())
    assert (ended.stderr, ended.returncode) == (b"the output cannot be written: No space left on device\n", 1)


def test_ctrl_c_while_a_command_is_loaded_ends_it_without_a_word() -> None:
    code = (
        "import os, signal, sys; from importlib.abc import MetaPathFinder\n"
        "class Interrupting(MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'exporter.commands.check': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting()); sys.argv = ['edge-exporter', 'check', '--help']\n"
        "from exporter.__main__ import main; main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, env=clean())
    assert (ended.stdout, ended.stderr, ended.returncode) == (b"", b"", -signal.SIGINT)
