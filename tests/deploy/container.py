"""Builds the image, and runs it like the deployment files: read-only, unprivileged, without capabilities."""

import re
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import httpx

from tests.deploy.files import REPOSITORY, USER
from tests.deploy.programs import run
from tests.waiting import PATIENCE, settled

(BASE,) = re.findall(r"^ARG PYTHON_IMAGE=(.+)$", (REPOSITORY / "Dockerfile").read_text(), re.MULTILINE)
HARDENED: Final = (
    "--network=host",
    "--read-only",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    f"--user={USER}",
    "--tmpfs=/tmp",
)


@dataclass(frozen=True, slots=True)
class Container:
    """A container that is running.

    Attributes:
        name: its name.
        url: where its exporter answers.
    """

    name: str
    url: str

    def ask(self, path: str) -> httpx.Response:
        """Return an answer of the exporter."""
        return httpx.get(self.url + path, trust_env=False, timeout=PATIENCE)

    def await_ready(self) -> int:
        """Return the status of /-/ready when it is 200, or the last one after a time limit."""
        return settled(lambda: self.ask("/-/ready").status_code, int(httpx.codes.OK))

    def await_metrics(self, *lines: str) -> str:
        """Return the metrics when they contain these lines, or the last ones after a time limit."""
        settled(lambda: set(lines) <= set(self.ask("/metrics").text.splitlines()), expected=True)
        return self.ask("/metrics").text

    def shell(self, command: str) -> str:
        """Return the output of a command in the container."""
        return run("podman", "exec", self.name, "sh", "-c", command).stdout

    def health_check(self) -> int:
        """Return the exit code of the image's health check."""
        return run("podman", "healthcheck", "run", self.name).returncode

    def stop(self) -> int:
        """Stop the container, and return the exporter's exit code."""
        run("podman", "stop", "--time=10", self.name)
        return int(run("podman", "inspect", "--format={{.State.ExitCode}}", self.name).stdout)


def build() -> str:
    """Build the image; its name.

    Raises:
        RuntimeError: it cannot be built.
    """
    name = f"localhost/edge-exporter-test:{uuid.uuid4().hex[:12]}"
    options = ("--format=docker", "--pull-never", "--isolation=chroot", "--network=host")
    built = run("buildah", "bud", *options, f"--tag={name}", ".")
    if built.returncode != 0:
        raise RuntimeError(built.stdout[-2000:] + built.stderr[-2000:])
    return name


@contextmanager
def running(image: str, port: int, *arguments: str, options: tuple[str, ...] = ()) -> Iterator[Container]:
    """Run a container whose exporter listens on a port; remove it at the end."""
    name = f"edge-exporter-test-{uuid.uuid4().hex[:12]}"
    command = ["podman", "run", f"--name={name}", *HARDENED, *options, image, *arguments]
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
            yield Container(name, f"http://127.0.0.1:{port}")
        finally:
            run("podman", "rm", "--force", "--volumes", name)
            process.communicate(timeout=PATIENCE)
