"""The sdist, and the wheel that is built from it, without the repository."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.deploy.files import DASHBOARDS, DEPLOY, REPOSITORY, run


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist of this checkout and unpack it."""
    folder = tmp_path_factory.mktemp("sdist")
    built = run(sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(folder))
    assert built.returncode == 0, built.stdout + built.stderr
    (sdist,) = folder.glob("*.tar.gz")
    assert run("tar", "-xzf", str(sdist), "-C", str(folder)).returncode == 0
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir())
    return unpacked


@pytest.fixture(scope="module")
def unpacked(source: Path) -> Path:
    """Build the wheel of the sdist with the build backend of this environment, and unpack it like an installer."""
    built = run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", cwd=source)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = (source / "dist").glob("*.whl")
    shutil.unpack_archive(wheel, source / "site", "zip")
    return source / "site"


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder by their paths, without compiled Python files."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("name", ["alertmanager", "dashboards", "endpoints", "prometheus", "runbooks"])
def test_an_installed_package_has_what_the_repository_ships(unpacked: Path, name: str) -> None:
    code = "import sys; from exporter.assets.shipped import find_folder; print(find_folder(sys.argv[1]))"
    # The copy comes first on the path, and the repository is not on it.
    found = run(sys.executable, "-P", "-c", code, name, cwd=unpacked, environ={"PYTHONPATH": str(unpacked)})
    folder = unpacked / "exporter" / "assets" / name
    assert (found.returncode, found.stderr, found.stdout.strip()) == (0, "", str(folder))
    held = contents(folder)
    if name == "dashboards":
        assert held == {path.name: path.read_bytes() for path in DASHBOARDS.glob("*.json")}
    else:
        assert held == contents(DEPLOY / name)


def test_the_sdist_holds_what_the_wheel_is_built_from(source: Path) -> None:
    assert {path.name for path in source.iterdir()} - {"dist", "site"} == {
        *("PKG-INFO", "pyproject.toml", ".gitignore", "CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md"),
        *("dashboards", "deploy", "exporter"),
    }


def test_it_says_that_it_has_types_and_where_the_project_is(unpacked: Path) -> None:
    assert (unpacked / "exporter" / "py.typed").is_file()
    (metadata,) = unpacked.glob("*.dist-info/METADATA")
    text = metadata.read_text(encoding="utf-8")
    (source,) = re.findall(r"^Project-URL: Source, (\S+)$", text, re.MULTILINE)
    # A package index shows the README, so its relative links and pictures lead to the repository.
    assert re.findall(r"\]\((?!https://|#)[^)]*\)", text) == []
    assert f"]({source}/raw/main/deploy/images/status-page.png)" in text
    assert f"]({source}/blob/main/docs/start.md)" in text


def test_it_holds_the_package_and_no_other(unpacked: Path) -> None:
    held = {name: content for name, content in contents(unpacked / "exporter").items() if "assets/" not in name}
    ours = {name: content for name, content in contents(REPOSITORY / "exporter").items() if "assets/" not in name}
    assert held == ours
    example = "edge-exporter.yml"
    assert (unpacked / "exporter" / "assets" / example).read_bytes() == (DEPLOY / example).read_bytes()
    kinds = {path.name.partition("-")[0] + path.suffix for path in unpacked.iterdir()}
    assert kinds == {"edge_exporter.data", "edge_exporter.dist-info", "exporter"}
    (data,) = unpacked.glob("*.data")
    page = "man/edge-exporter.1"
    assert contents(data) == {"data/share/man/man1/edge-exporter.1": (DEPLOY / page).read_bytes()}
