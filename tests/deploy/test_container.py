"""The image, built and run."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from exporter.sandbox import keys
from tests.deploy.container import BASE, HARDENED, Container, build, running
from tests.deploy.files import RELEASE, STATE_FOLDER
from tests.deploy.programs import run
from tests.ports import free_port
from tests.real_parts import end_without, find
from tests.rules.rule_files import load_rules
from tests.waiting import wait_until

pytestmark = pytest.mark.real

# For a machine without systemd.
CONTAINERS_CONF = """
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=30000:30000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build the image from this checkout."""
    for tool in ("podman", "buildah"):
        find(tool)
    with pytest.MonkeyPatch.context() as patch:
        if "CONTAINERS_CONF" not in os.environ and not Path("/run/systemd/system").exists():
            path = tmp_path_factory.mktemp("containers") / "containers.conf"
            path.write_text(CONTAINERS_CONF)
            patch.setenv("CONTAINERS_CONF", str(path))
        if run("podman", "image", "exists", BASE).returncode != 0:
            end_without(BASE, "make real-parts")
        name = build()
        yield name
        run("podman", "rmi", "--force", name)


@pytest.fixture(scope="module")
def sandbox_port() -> int:
    """Return the address of the demo's sandbox."""
    return free_port()


@pytest.fixture(scope="module")
def demo(image: str, sandbox_port: int) -> Iterator[Container]:
    """Run the demo in a container."""
    port = free_port()
    with running(image, port, "demo", "--listen", f":{port}", "--sandbox-port", str(sandbox_port)) as container:
        yield container


def test_the_demo_serves_metrics_and_is_healthy(demo: Container) -> None:
    assert demo.await_ready() == 200
    up = 'edge_up{account="demo"} 1.0'
    metrics = demo.await_metrics(up)
    assert up in metrics.splitlines()
    assert re.findall(r'^edge_exporter_build_info\{.*version="([^"]+)".*\} 1\.0$', metrics, re.MULTILINE) == [
        f"{RELEASE}.dev0"
    ]
    assert demo.health_check() == 0


def test_it_has_no_capability_no_privilege_and_a_root_that_cannot_be_written(demo: Container) -> None:
    status = dict(line.split(":\t", 1) for line in demo.shell("cat /proc/1/status").splitlines() if ":\t" in line)
    assert {status[name].strip("0") for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb")} == {""}
    assert (status["NoNewPrivs"], status["Seccomp"], status["Uid"].split()[0]) == ("1", "2", "65532")
    written = demo.shell(f"for each in / /opt/edge-exporter /tmp {STATE_FOLDER}; do touch $each/x && echo $each; done")
    assert written.split() == ["/tmp", STATE_FOLDER]  # noqa: S108 - inside the container


def test_a_prometheus_that_is_mounted_runs_beside_the_demo_with_the_shipped_rules(image: str) -> None:
    program = find("prometheus")
    port, watcher = free_port(), free_port()
    options = (f"--volume={program}:/usr/local/bin/prometheus:ro",)
    arguments = ("demo", "--listen", f":{port}", "--sandbox-port", "0", "--prometheus", "--prometheus-port")

    def loaded() -> list[str]:
        groups = httpx.get(f"http://127.0.0.1:{watcher}/api/v1/rules", trust_env=False).json()["data"]["groups"]
        return sorted(rule["name"] for group in groups for rule in group["rules"])

    with running(image, port, *arguments, str(watcher), options=options) as container:
        assert container.await_ready() == 200
        # Prometheus starts without targets, and loads them when the exporter's address is known.
        wait_until(lambda: loaded() == sorted(rule.name for rule in load_rules()), "the shipped rules")


def test_the_health_check_fails_where_nobody_answers(image: str) -> None:
    port = free_port()
    wrong = (f"--env=HEALTHCHECK_URL=http://127.0.0.1:{free_port()}/-/healthy",)
    arguments = ("demo", "--listen", f":{port}", "--sandbox-port", "0")
    with running(image, port, *arguments, options=wrong) as container:
        assert container.health_check() != 0


def test_it_polls_an_account_with_a_key_from_a_file_and_finds_its_state_again_in_the_volume(
    image: str, demo: Container, sandbox_port: int, tmp_path: Path
) -> None:
    assert demo.await_ready() == 200
    key = tmp_path / "api-key"
    key.write_text(keys.API_KEY)
    key.chmod(0o444)
    tmp_path.chmod(0o755)
    port = free_port()
    volume = f"edge-exporter-test-{port}"
    options = (
        f"--volume={key}:/run/secrets/edge:ro",
        f"--volume={volume}:{STATE_FOLDER}",
        f"--env=EDGE_EXPORTER_BASE_URL=http://127.0.0.1:{sandbox_port}",
        "--env=EDGE_EXPORTER_API_KEY_FILE=/run/secrets/edge",
        f"--env=EDGE_EXPORTER_WEB__LISTEN=:{port}",
        "--uts=private",
        "--hostname=edge-exporter-0",
        "--env=EDGE_EXPORTER_SHARD__INDEX=auto",
    )
    expected = {'edge_exporter_shard_info{shard="0",shards="1"} 1.0', "edge_exporter_ledger_up 1.0"}
    try:
        with running(image, port, options=options) as first:
            assert first.await_ready() == 200
            assert first.stop() == 0
        with running(image, port, options=options) as second:
            assert second.await_ready() == 200
            metrics = set(second.await_metrics(*expected).splitlines())
            files = second.shell(f"ls {STATE_FOLDER}").split()
        assert expected <= metrics
        assert [name for name in files if name.endswith(".db") or "corrupt" in name] == ["edge-exporter-state.db"]
    finally:
        run("podman", "volume", "rm", "--force", volume)


def test_without_anything_to_poll_it_says_what_is_missing(image: str) -> None:
    done = run("podman", "run", "--rm", *HARDENED, image)
    assert (done.returncode, "EDGE_EXPORTER_BASE_URL" in done.stdout + done.stderr) == (1, True)
