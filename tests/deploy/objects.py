"""Kubernetes' objects of the exporter: what is in them, and whether they fit together."""

import importlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from unittest.mock import patch

import yaml

from exporter.targets.sharding import Shard
from tests.deploy.files import Document, known_variables, secret_files, settings_from
from tests.golden import assert_golden
from tests.real_parts import find

KUBERNETES: Final = "1.34"
# The kinds of the Prometheus Operator are not in Kubernetes' schemas; the tests check them separately.
OTHERS: Final = {"PodMonitor", "PrometheusRule", "ScrapeConfig", "ServiceMonitor"}
SELECTING: Final = {"Deployment", "NetworkPolicy", "PodDisruptionBudget", "PodMonitor", "Service", "StatefulSet"}
RENDERED: Final = Path(__file__).parent / "rendered"


def of_kind(objects: Iterable[Document], *kinds: str) -> Document:
    """Return the only object of some kinds."""
    (one,) = (each for each in objects if each["kind"] in kinds)
    return one


def workload_of(objects: Iterable[Document]) -> Document:
    """Return the only object that runs the exporter."""
    return of_kind(objects, "StatefulSet", "Deployment")


def check_objects(objects: list[Document], folder: Path, golden: str, installation: str) -> None:
    """Check that objects are valid, as the golden file shows them, and fit together and to the exporter.

    Args:
        objects: the objects of one exporter.
        folder: where secrets and the configuration file are written.
        golden: the name of the golden file.
        installation: the name under which the exporter's counters are in a shared database.
    """
    validate(objects)
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(names) == len(set(names))
    pod = workload_of(objects)["spec"]["template"]
    labels = pod["metadata"]["labels"].items()
    others = [each["metadata"]["labels"].items() for each in objects if each["kind"] == "Pod"]
    for each in objects:
        if each["kind"] not in SELECTING:
            continue
        chosen = each["spec"].get("podSelector", each["spec"].get("selector", {}))
        selector = chosen.get("matchLabels", chosen)
        assert selector
        assert selector.items() <= labels
        assert not any(selector.items() <= other for other in others)
    if pod["spec"]["containers"][0]["args"][0] == "run":
        _check_settings(objects, folder, installation)
    # Rules and dashboards, and the list of series in a monitor, are generated, and compared elsewhere.
    shown = [
        each for each in objects if each["kind"] != "PrometheusRule" and "-dashboard-" not in each["metadata"]["name"]
    ]
    text = re.sub(r"edge_\(\?:.*?\)", "edge_(?:...)", yaml.safe_dump_all(shown, width=10**6), flags=re.DOTALL)
    assert_golden(text, RENDERED / f"{golden}.yaml")


def validate(objects: list[Document]) -> None:
    """Check objects against Kubernetes' schemas, with unknown fields as errors."""
    find("kubernetes-validate")
    # Its program would read each object from YAML again, in Python.
    library = importlib.import_module("kubernetes_validate")
    known = [each for each in objects if each["kind"] not in OTHERS]
    assert {library.validate(each, KUBERNETES, strict=True) for each in known} == {KUBERNETES}


def _check_settings(objects: list[Document], folder: Path, installation: str) -> None:
    workload = workload_of(objects)
    (exporter,) = workload["spec"]["template"]["spec"]["containers"]
    maps = [each["data"] for each in objects if each["kind"] == "ConfigMap" and "config.yaml" in each.get("data", {})]
    config = str(maps[0]["config.yaml"]) if maps else ""
    given = {entry["name"]: entry["value"] for entry in exporter["env"]}
    assert given.keys() <= known_variables()
    mounts = {mount["mountPath"] for mount in exporter["volumeMounts"]}
    files = secret_files(config) | {value for name, value in given.items() if name.endswith("_FILE")}
    assert {str(Path(name).parent) for name in files} <= mounts
    replicas = workload["spec"]["replicas"]
    for ordinal in range(replicas):
        host = f"{workload['metadata']['name']}-{ordinal}"
        # The web configuration is not read until the daemon starts.
        with patch("socket.gethostname", return_value=host):
            settings = settings_from(given, folder, config=config)
            shard = settings.own_shard()
        if workload["kind"] == "Deployment":
            assert (shard, settings.state.is_shared) == (None, True)
            assert settings.shard.total <= replicas
        else:
            assert shard == Shard(ordinal, replicas)
        assert not settings.state.is_shared or settings.state.installation == installation
