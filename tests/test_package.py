"""The package as it is installed."""

from importlib.metadata import version

import exporter


def test_the_installed_version_is_the_package_s_own() -> None:
    assert version("edge-exporter") == exporter.__version__
