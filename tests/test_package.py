"""The installed package."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import exporter

PACKAGE = Path(exporter.__file__).parent


def test_the_version_is_that_of_the_installed_package() -> None:
    assert exporter.__version__ == version("edge-exporter")


def test_a_source_tree_that_is_not_installed_says_that_its_version_is_unknown() -> None:
    # Without site-packages there are no packages but Python's own.
    code = "import sys; sys.path.insert(0, sys.argv[1]); import exporter; print(exporter.__version__)"
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", code, PACKAGE.parent], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("0+unknown\n", "")


def test_it_says_that_it_has_types() -> None:
    assert (PACKAGE / "py.typed").read_text(encoding="utf-8") == ""
