"""The Dockerfile, and its locks, from which pip takes only what is pinned with hashes."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.deploy.files import PORT, RELEASE, REPOSITORY, STATE_FOLDER, known_variables, named_variables, run

DOCKERFILE = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
# Join continued lines.
STEPS = re.sub(r"\\\n\s*", " ", DOCKERFILE).splitlines()

PYPROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
WANTED = {
    "image.txt": PYPROJECT["project"]["dependencies"],
    "build.txt": PYPROJECT["build-system"]["requires"],
}


def _steps(instruction: str) -> list[str]:
    return [step.removeprefix(f"{instruction} ") for step in STEPS if step.startswith(f"{instruction} ")]


@pytest.mark.real
def test_hadolint_finds_nothing() -> None:
    done = run("hadolint", "Dockerfile")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_its_variables_are_known_and_agree_with_its_port_and_its_volume() -> None:
    variables = _steps("ENV")[-1]
    values = dict(pair.split("=", 1) for pair in variables.split())
    assert named_variables(DOCKERFILE) - known_variables() == set()
    assert values["CONTAINER_LISTEN"] == f":{PORT}"
    assert (_steps("EXPOSE"), _steps("VOLUME"), _steps("WORKDIR")[-1]) == ([str(PORT)], [STATE_FOLDER], STATE_FOLDER)


def test_without_git_its_version_is_a_development_version_of_the_changelog_s_newest() -> None:
    assert PYPROJECT["tool"]["hatch"]["version"]["fallback-version"] == f"{RELEASE}.dev0"
    assert [step for step in _steps("ARG") if step.startswith("VERSION=")] == [f"VERSION={RELEASE}.dev0"] * 2


def test_nothing_gets_into_it_but_what_it_is_made_of() -> None:
    lines = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    copied = {source for step in _steps("COPY") if "--from" not in step for source in step.split()[:-1]}
    assert rules[0] == "*"
    assert {rule[1:] for rule in rules if rule.startswith("!")} == copied
    assert all((REPOSITORY / source).exists() for source in copied)


@pytest.mark.parametrize("lock", sorted(WANTED))
def test_it_holds_a_fitting_version_of_every_dependency(lock: str) -> None:
    text = (REPOSITORY / "requirements" / lock).read_text(encoding="utf-8")
    # Each package is one line with its hashes.
    lines = (line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#"))
    pinned = {line.partition("==")[0]: Version(line.partition("==")[2].split()[0]) for line in lines}
    wanted = {canonicalize_name(each.name): each.specifier for each in map(Requirement, WANTED[lock])}
    assert wanted
    assert "://" not in text
    assert {name: pinned.get(name) for name in wanted if name not in pinned or pinned[name] not in wanted[name]} == {}
