"""The tools that check the deployment files; a test is skipped if its tool is not installed."""

from collections.abc import Callable

import pytest

from tests.deploy.files import Document, documents, run
from tests.real_parts import find


@pytest.fixture(scope="session")
def kustomize() -> Callable[..., list[Document]]:
    """Build a folder, and return its objects."""
    find("kubectl")

    def build(folder: str, *options: str) -> list[Document]:
        built = run("kubectl", "kustomize", *options, f"deploy/kubernetes/{folder}")
        assert (built.returncode, built.stderr) == (0, "")
        return documents(built.stdout)

    return build


@pytest.fixture(scope="session")
def helm() -> Callable[..., str]:
    """Run Helm, which must succeed, or refuse what it is given; return its output, or its error."""
    find("helm")

    def ends(*arguments: str, refuses: bool = False) -> str:
        done = run("helm", *arguments)
        assert (done.returncode != 0) == refuses, done.stdout + done.stderr
        return done.stderr if refuses else done.stdout

    return ends
