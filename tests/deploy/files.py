"""What is deployed, as the tests read it: places, documents, and the variables that the exporter knows."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from exporter.settings.flag import ACCOUNT_VARIABLES, CONFIG_VARIABLE
from exporter.settings.flags import flags
from exporter.settings.loading import load
from exporter.settings.model import Settings

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
    """The documents of a YAML stream, the empty ones aside."""
    return [document for document in yaml.safe_load_all(text) if document]


def document(path: Path) -> Document:
    """The one document of a YAML file."""
    (found,) = documents(path.read_text(encoding="utf-8"))
    return found


def of_kind(found: list[Document], kind: str) -> Document:
    """The one object of a kind."""
    (one,) = (each for each in found if each["kind"] == kind)
    return one


def known_variables() -> frozenset[str]:
    """Every environment variable that sets something."""
    return frozenset({flag.variable for flag in flags()} | set(ACCOUNT_VARIABLES) | {CONFIG_VARIABLE})


def named_variables(text: str) -> set[str]:
    """Every variable of the exporter that a text names."""
    return set(re.findall(r"EDGE_EXPORTER_\w+", text))


def environment(container: Document) -> dict[str, str]:
    """What a container's plain variables say."""
    return {entry["name"]: entry["value"] for entry in container.get("env", [])}


def settings_from(environ: Mapping[str, str], folder: Path, *, config: str = "", host_name: str = "x-0") -> Settings:
    """The settings that a deployment makes, with its secrets and its configuration file in a folder of the test."""
    here = {name: str(_secret(folder, value)) if name.endswith("_FILE") else value for name, value in environ.items()}
    path = None
    if CONFIG_VARIABLE in here:
        path = folder / "config.yaml"
        path.write_text(_with_secrets(config, folder), encoding="utf-8")
        del here[CONFIG_VARIABLE]
    return load(path, None, here, host_name=host_name)


def _secret(folder: Path, name: str) -> Path:
    path = folder / name.strip("/").replace("/", "-")
    is_address = name.startswith("/etc/edge-exporter/state/")
    made_up = "postgresql://edge:made-up@db.example.net/edge" if is_address else "made-up-key"
    path.write_text(f"{made_up}\n", encoding="utf-8")
    return path


def _with_secrets(config: str, folder: Path) -> str:
    return re.sub(r"(?<=_file: )\S+", lambda match: str(_secret(folder, match[0].rstrip("}"))), config)


def secret_files(config: str) -> set[str]:
    """The files of secrets that a configuration names."""
    return set(re.findall(r"(?:api_key|auth_token)_file: (\S+)", config))


def workload_of(objects: Iterable[Document]) -> Document:
    """The one object that runs the exporter."""
    (found,) = [each for each in objects if each["kind"] in ("StatefulSet", "Deployment")]
    return found


def containers(workload: Document) -> Iterator[Document]:
    """The containers of a StatefulSet, of a Deployment or of a Pod."""
    spec = workload["spec"]
    yield from (spec["template"]["spec"] if "template" in spec else spec)["containers"]
