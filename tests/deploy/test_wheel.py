"""What is built for those who install the package, with no repository beside it."""

import sys
import zipfile
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY, REPOSITORY
from tests.deploy.programs import run


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, unpacked as an installer does."""
    folder = tmp_path_factory.mktemp("wheel")
    # The build's back end is taken from this environment: nothing is fetched.
    built = run(
        *(sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"),
        "--no-build-isolation",
        *("--wheel-dir", str(folder), str(REPOSITORY)),
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder, by their paths in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_demo_of_an_installed_package_has_the_shipped_configuration_and_rules(unpacked: Path) -> None:
    code = "from exporter.commands.prometheus import shipped; print(shipped())"
    # Its own copy comes first, and the repository is on no path.
    found = run(sys.executable, "-P", "-c", code, cwd=unpacked, environ={"PYTHONPATH": str(unpacked)})
    assert (found.returncode, found.stderr, found.stdout.strip()) == (0, "", str(unpacked / "exporter" / "prometheus"))
    assert contents(Path(found.stdout.strip())) == contents(DEPLOY / "prometheus")


def test_the_page_s_assets_are_in_it(unpacked: Path) -> None:
    place = Path("exporter", "web", "page", "static")
    assert contents(unpacked / place) == contents(REPOSITORY / place)
    assert contents(unpacked / place)
