"""The Dockerfile; `test_container.py` builds and runs the image."""

import re
import tomllib

import pytest

from tests.deploy.files import PORT, RELEASE, REPOSITORY, STATE_FOLDER, USER, known_variables, named_variables
from tests.deploy.programs import run

DOCKERFILE = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
# Join continued lines.
STEPS = re.sub(r"\\\n\s*", " ", DOCKERFILE).splitlines()


def _steps(instruction: str) -> list[str]:
    return [step.removeprefix(f"{instruction} ") for step in STEPS if step.startswith(f"{instruction} ")]


@pytest.mark.real
def test_hadolint_finds_nothing() -> None:
    done = run("hadolint", "Dockerfile")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_both_stages_come_from_the_one_base_that_an_argument_names() -> None:
    assert [step.split()[0] for step in _steps("FROM")] == ["${PYTHON_IMAGE}", "${PYTHON_IMAGE}"]


def test_it_runs_as_nobody_in_particular_and_by_the_name_of_the_command() -> None:
    assert _steps("USER") == [f"{USER}:{USER}"]
    assert (_steps("ENTRYPOINT"), _steps("CMD")) == (['["edge-exporter"]'], ['["run"]'])


def test_its_variables_are_known_and_agree_with_its_port_and_its_volume() -> None:
    variables = _steps("ENV")[-1]
    values = dict(pair.split("=", 1) for pair in variables.split())
    assert named_variables(DOCKERFILE) - known_variables() == set()
    assert values["EDGE_EXPORTER_WEB__LISTEN"] == f":{PORT}"
    assert values["EDGE_EXPORTER_STATE__PATH"].startswith(f"{STATE_FOLDER}/")
    assert (_steps("EXPOSE"), _steps("VOLUME")) == ([str(PORT)], [STATE_FOLDER])


def test_without_git_its_version_is_a_development_version_of_the_changelog_s_newest() -> None:
    pyproject = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert pyproject["tool"]["hatch"]["version"]["fallback-version"] == f"{RELEASE}.dev0"
    assert [step for step in _steps("ARG") if step.startswith("VERSION=")] == [f"VERSION={RELEASE}.dev0"] * 2


def test_nothing_gets_into_it_but_what_it_is_made_of() -> None:
    lines = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    copied = {source for step in _steps("COPY") if "--from" not in step for source in step.split()[:-1]}
    assert rules[0] == "*"
    assert {rule[1:] for rule in rules if rule.startswith("!")} == copied
    assert all((REPOSITORY / source).exists() for source in copied)
