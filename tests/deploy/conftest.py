"""The tools that check the deployment files; a test is skipped if its tool is not installed."""

import importlib
from collections.abc import Callable

import pytest

from tests.deploy.files import Document, documents
from tests.deploy.programs import run
from tests.real_parts import find

KUBERNETES = "1.34"
# The kinds of the Prometheus Operator are not in Kubernetes' schemas; the tests check them separately.
OTHERS = {"PodMonitor", "ServiceMonitor", "PrometheusRule"}


@pytest.fixture(scope="session")
def hadolint() -> str:
    """The Dockerfile linter."""
    return find("hadolint")


@pytest.fixture(scope="session")
def podman_compose() -> str:
    """podman-compose, which reads compose files."""
    return find("podman-compose")


@pytest.fixture(scope="session")
def systemd_analyze() -> str:
    """The checker of units of systemd."""
    return find("systemd-analyze")


@pytest.fixture(scope="session")
def kustomize() -> Callable[..., list[Document]]:
    """Build a folder, and return its objects."""
    kubectl = find("kubectl")

    def build(folder: str, *options: str) -> list[Document]:
        built = run(kubectl, "kustomize", *options, f"deploy/kubernetes/{folder}")
        assert (built.returncode, built.stderr) == (0, "")
        return documents(built.stdout)

    return build


@pytest.fixture(scope="session")
def helm() -> Callable[..., str]:
    """Run Helm, which must succeed, and return its output."""
    program = find("helm")

    def succeed(*arguments: str) -> str:
        done = run(program, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return succeed


@pytest.fixture(scope="session")
def helm_refusal() -> Callable[..., str]:
    """Run Helm, which must fail, and return its error."""
    program = find("helm")

    def fail(*arguments: str) -> str:
        done = run(program, *arguments)
        assert done.returncode != 0, done.stdout
        return done.stderr

    return fail


@pytest.fixture(scope="session")
def kubernetes_validate() -> Callable[[list[Document]], None]:
    """Check objects against Kubernetes' schemas, with unknown fields as errors."""
    find("kubernetes-validate")
    # Its program would read each object from YAML again, in Python.
    library = importlib.import_module("kubernetes_validate")

    def validate(objects: list[Document]) -> None:
        known = [each for each in objects if each["kind"] not in OTHERS]
        assert {library.validate(each, KUBERNETES, strict=True) for each in known} == {KUBERNETES}

    return validate
