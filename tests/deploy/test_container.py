"""The image, built, and run like the deployment files: read-only, unprivileged, without capabilities."""

import os
import re
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from exporter.sandbox import keys
from tests.deploy.files import RELEASE, REPOSITORY, STATE_FOLDER, USER, run
from tests.ports import free_port
from tests.real_parts import end_without
from tests.waiting import PATIENCE, settled

pytestmark = pytest.mark.real

(BASE,) = re.findall(r"^ARG PYTHON_IMAGE=(.+)$", (REPOSITORY / "Dockerfile").read_text(), re.MULTILINE)
# For a machine without systemd.
CONTAINERS_CONF = """
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=30000:30000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


class Container:
    """A running container, whose exporter answers at a port of this machine; the demo has a sandbox."""

    sandbox = ""

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        self.url = f"http://127.0.0.1:{port}"

    def lines(self) -> set[str]:
        """Return the lines of /metrics."""
        return set(httpx.get(f"{self.url}/metrics", trust_env=False, timeout=PATIENCE).text.splitlines())

    def await_ready(self) -> None:
        """Wait until /-/ready answers 200."""
        ready = f"{self.url}/-/ready"
        assert settled(lambda: httpx.get(ready, trust_env=False, timeout=PATIENCE).status_code, 200) == 200

    def shell(self, command: str) -> list[str]:
        """Return the lines that a command prints in the container."""
        return run("podman", "exec", self.name, "sh", "-c", command).stdout.splitlines()


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        if "CONTAINERS_CONF" not in os.environ and not Path("/run/systemd/system").exists():
            path = tmp_path_factory.mktemp("containers") / "containers.conf"
            path.write_text(CONTAINERS_CONF)
            patch.setenv("CONTAINERS_CONF", str(path))
        if run("podman", "image", "exists", BASE).returncode != 0:
            end_without(BASE, "make real-parts")
        name = f"localhost/edge-exporter-test:{uuid.uuid4().hex[:12]}"
        options = ("--format=docker", "--pull-never", "--isolation=chroot", "--network=host")
        built = run("buildah", "bud", *options, f"--tag={name}", ".")
        assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-2000:]
        yield name
        run("podman", "rmi", "--force", name)


@contextmanager
def running(image: str, port: int, *arguments: str, options: tuple[str, ...] = ()) -> Iterator[Container]:
    """Run a container whose exporter listens on a port; remove it at the end."""
    name = f"edge-exporter-test-{uuid.uuid4().hex[:12]}"
    hardened = ("--network=host", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--tmpfs=/tmp")
    command = ["podman", "run", f"--name={name}", *hardened, *options, image, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            said = []
            for line in process.stdout:
                said.append(line)
                if "/metrics" in line:
                    break
            else:
                raise RuntimeError("".join(said))
            yield Container(name, port)
        finally:
            run("podman", "rm", "--force", "--volumes", name)
            process.communicate(timeout=PATIENCE)


@pytest.fixture(scope="module")
def demo(image: str) -> Iterator[Container]:
    """Run the demo in a container."""
    port, sandbox = free_port(), free_port()
    health = f"--env=HEALTHCHECK_URL=http://127.0.0.1:{port}/-/healthy"
    command = ("demo", "--listen", f":{port}", "--sandbox-port", str(sandbox))
    with running(image, port, *command, options=(health,)) as container:
        container.sandbox = f"http://127.0.0.1:{sandbox}"
        container.await_ready()
        yield container


def test_the_demo_is_healthy_without_capability_and_privilege_and_writes_its_volume_alone(demo: Container) -> None:
    assert settled(lambda: 'edge_up{account="demo"} 1.0' in demo.lines(), expected=True)
    (build,) = (line for line in demo.lines() if line.startswith("edge_exporter_build_info{"))
    assert f'version="{RELEASE}.dev0"' in build
    assert run("podman", "healthcheck", "run", demo.name).returncode == 0
    status = dict(line.split(":\t", 1) for line in demo.shell("cat /proc/1/status") if ":\t" in line)
    assert {status[name].strip("0") for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb")} == {""}
    assert (status["NoNewPrivs"], status["Seccomp"], status["Uid"].split()[0]) == ("1", "2", str(USER))
    written = demo.shell(f"for each in / /opt/edge-exporter /tmp {STATE_FOLDER}; do touch $each/x && echo $each; done")
    assert written == ["/tmp", STATE_FOLDER]  # noqa: S108 - inside the container


def test_it_polls_an_account_with_a_key_from_a_file_and_finds_its_state_again_in_the_volume(
    image: str, demo: Container, tmp_path: Path
) -> None:
    key = tmp_path / "api-key"
    key.write_text(keys.API_KEY)
    key.chmod(0o444)
    tmp_path.chmod(0o755)
    port = free_port()
    volume = f"edge-exporter-test-{port}"
    variables = {
        "EDGE_EXPORTER_BASE_URL": demo.sandbox,
        "EDGE_EXPORTER_API_KEY_FILE": "/run/secrets/edge",
        "EDGE_EXPORTER_WEB__LISTEN": f":{port}",
        "EDGE_EXPORTER_SHARD__INDEX": "auto",
    }
    options = (
        *(f"--env={name}={value}" for name, value in variables.items()),
        *(f"--volume={key}:/run/secrets/edge:ro", f"--volume={volume}:{STATE_FOLDER}"),
        *("--uts=private", "--hostname=edge-exporter-0"),
    )
    expected = {'edge_exporter_shard_info{shard="0",shards="1"} 1.0', "edge_exporter_ledger_up 1.0"}
    try:
        with running(image, port, options=options) as first:
            first.await_ready()
            run("podman", "stop", "--time=10", first.name)
            assert run("podman", "inspect", "--format={{.State.ExitCode}}", first.name).stdout.strip() == "0"
        with running(image, port, options=options) as second:
            second.await_ready()
            assert settled(lambda: expected <= second.lines(), expected=True)
            files = second.shell(f"ls {STATE_FOLDER}")
        assert [name for name in files if name.endswith(".db") or "corrupt" in name] == ["edge-exporter-state.db"]
    finally:
        run("podman", "volume", "rm", "--force", volume)
