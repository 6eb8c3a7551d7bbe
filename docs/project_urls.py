"""Replaces the project's addresses in files by those of pyproject.toml.

`Source` in `[project.urls]` is the repository, and `Documentation` the site. The release workflow
(.github/workflows/release.yml) fails if `Source` is not its own repository, because released files link to it.
"""

import re
import tomllib
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parents[1]
# Patterns of the files that contain an address of the project. Other files have relative links.
PLACES: Final = (
    "pyproject.toml",
    "CODE_OF_CONDUCT.md",
    "Dockerfile",
    "README.md",
    "SECURITY.md",
    "properdocs.yml",
    ".github/ISSUE_TEMPLATE/config.yml",
    "dashboards/edge-overview.json",
    "dashboards/generator/links.py",
    "deploy/helm/edge-exporter/Chart.yaml",
    "deploy/kubernetes/monitoring/prometheusrules.yaml",
    "deploy/prometheus/rules/*.yml",
    "deploy/systemd/edge-exporter.service",
    "docs/start.md",
    "exporter/assets/shipped.py",
    "tests/commands/test_assets.py",
    "tests/deploy/rendered/changed-alerts.txt",
    "tests/rules/*.test.yml",
    "tests/rules/test_rules.py",
)
# A repository of this name on any host. A page of the package index looks alike, and is excluded.
_ADDRESS: Final = re.compile(r"https://(?!pypi\.org/)[\w.-]+(?:/[\w.-]+)+?/edge-exporter(?![\w-])")
_SITE: Final = re.compile(r"(?m)^site_url: .*$")


def urls() -> dict[str, str]:
    """Return the addresses that pyproject.toml names."""
    named: dict[str, str] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "urls"
    ]
    return named


def with_urls(text: str, source: str, site: str) -> str:
    """Replace the addresses of the repository and of the site in a text."""
    return _SITE.sub(f"site_url: {site}", _ADDRESS.sub(source, text))


def documents() -> dict[Path, str]:
    """Return the files that contain an address, and their texts with the addresses of pyproject.toml."""
    named = urls()
    return {
        path: with_urls(path.read_text(encoding="utf-8"), named["Source"], named["Documentation"])
        for place in PLACES
        for path in sorted(REPOSITORY.glob(place))
    }
