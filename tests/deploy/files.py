"""Reads the deployment files: places, documents, and the exporter's variables; runs the tools that check them."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from exporter.settings.flags import CONFIG_VARIABLE, variables
from exporter.settings.loading import load
from exporter.settings.model import Settings
from tests.commands.shell import clean
from tests.real_parts import PARTS, find
from tests.waiting import PATIENCE

REPOSITORY: Final = Path(__file__).parents[2]
DEPLOY: Final = REPOSITORY / "deploy"
DASHBOARDS: Final = REPOSITORY / "dashboards"
RULES: Final = DEPLOY / "prometheus" / "rules"
# The newest version of the changelog, which the deployment files name.
RELEASE: Final = re.findall(r"^## (\d\S*)", (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[0]
PORT: Final = 9877
STATE_FOLDER: Final = "/var/lib/edge-exporter"
USER: Final = 65532

Document = dict[str, Any]


def documents(text: str) -> list[Document]:
    """Return the documents of a YAML stream, without empty ones."""
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]


def document(path: Path) -> Document:
    """Return the only document of a YAML file."""
    (found,) = documents(path.read_text(encoding="utf-8"))
    return found


def known_variables() -> frozenset[str]:
    """Return every environment variable of the exporter."""
    return frozenset({*variables(), CONFIG_VARIABLE})


def named_variables(text: str) -> set[str]:
    """Return every variable of the exporter in a text."""
    return set(re.findall(r"EDGE_EXPORTER_\w+", text))


def settings_from(environ: Mapping[str, str], folder: Path, *, config: str = "") -> Settings:
    """Load the settings of a deployment, with its secrets and its configuration file in a folder."""
    here = {name: str(_secret(folder, value)) if name.endswith("_FILE") else value for name, value in environ.items()}
    path = None
    if CONFIG_VARIABLE in here:
        path = folder / "config.yaml"
        files = re.compile(r"(?<=_file: )\S+")
        config = files.sub(lambda match: str(_secret(folder, match[0].rstrip("}"))), config)
        path.write_text(config, encoding="utf-8")
        del here[CONFIG_VARIABLE]
    return load(path, {}, here)


def _secret(folder: Path, name: str) -> Path:
    path = folder / name.strip("/").replace("/", "-")
    is_address = name.startswith("/etc/edge-exporter/state/")
    made_up = "postgresql://edge:made-up@db.example.net/edge" if is_address else "made-up-key"
    path.write_text(f"{made_up}\n", encoding="utf-8")
    return path


def secret_files(config: str) -> set[str]:
    """Return the files of secrets in a configuration."""
    return set(re.findall(r"(?:api_key|auth_token)_file: (\S+)", config))


def run(
    program: str, *arguments: object, environ: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, and return its output and exit code; if it is not installed, the test is skipped.

    Args:
        program: the name of a part, or another program.
        arguments: its arguments.
        environ: variables besides those of this process; the exporter's are not taken over.
        options: other options of `subprocess.run` than the usual ones.
    """
    words = [find(program) if program in PARTS else program, *map(str, arguments)]
    options = {"cwd": REPOSITORY, "timeout": PATIENCE, **options}
    return subprocess.run(words, env=clean(environ), capture_output=True, text=True, check=False, **options)
