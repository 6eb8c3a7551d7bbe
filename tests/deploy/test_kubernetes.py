import re
import shutil
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from exporter.collectors.catalogue import families
from exporter.exposition.store import HEALTH
from exporter.telemetry import Telemetry
from tests.deploy.files import DASHBOARDS, DEPLOY, RELEASE, REPOSITORY, Document, document, documents, run
from tests.deploy.objects import check_objects, validate, workload_of

FOLDER = DEPLOY / "kubernetes"
RULE_OBJECTS = FOLDER / "monitoring" / "prometheusrules.yaml"


def kustomize(folder: str | Path, *options: str) -> list[Document]:
    """Build a folder, by default one of the repository, and return its objects."""
    built = run("kubectl", "kustomize", *options, str(FOLDER / folder))
    assert (built.returncode, built.stderr) == (0, "")
    return documents(built.stdout)


@pytest.mark.real
@pytest.mark.parametrize("overlay", ["plain", "sharded", "spare", "without-operator"])
def test_an_overlay_is_valid_and_what_the_exporter_takes(tmp_path: Path, overlay: str) -> None:
    objects = kustomize(f"overlays/{overlay}")
    check_objects(objects, tmp_path, f"kustomize-{overlay}", "monitoring/edge-exporter")
    kinds = {each["kind"] for each in objects}
    assert ({"PodMonitor", "PrometheusRule"} & kinds == set()) == (overlay == "without-operator")
    workload = workload_of(objects)
    # kubectl leaves a workload of another kind running beside the new one.
    former = f"delete {workload['kind'].lower()} {workload['metadata']['name']} "
    assert former in (REPOSITORY / "docs" / "upgrading.md").read_text()
    (exporter,) = workload["spec"]["template"]["spec"]["containers"]
    assert exporter["image"] == f"localhost/edge-exporter:{RELEASE}"


def test_the_series_of_targets_have_one_identity_and_those_of_the_process_keep_theirs() -> None:
    prometheus = document(DEPLOY / "prometheus" / "prometheus.yml")
    rules = prometheus["scrape_configs"][0]["metric_relabel_configs"]
    assert {rule["target_label"] for rule in rules} == {"instance", "pod"}
    (pattern,) = {rule["regex"] for rule in rules}
    process = [info.name for info in Telemetry(CollectorRegistry(), "").families()]
    own = [name for name in process if name.startswith(("edge_up", "edge_api_", "edge_exporter_"))]
    of_targets = [info.name for info in (*families(), *HEALTH)]
    assert [name for name in of_targets if not re.fullmatch(pattern, name)] == []
    assert [name for name in (*own, "up", "process_cpu_seconds_total") if re.fullmatch(pattern, name)] == []


@pytest.mark.real
def test_the_dashboards_config_maps_hold_the_dashboards() -> None:
    objects = kustomize("dashboards", "--load-restrictor", "LoadRestrictionsNone")
    validate(objects)
    held = {name: text for each in objects for name, text in each["data"].items()}
    assert held == {path.name: path.read_text() for path in DASHBOARDS.glob("*.json")}
    assert all(each["metadata"]["labels"]["grafana_dashboard"] == "1" for each in objects)


def _rules(objects: list[Document]) -> dict[str, Document]:
    return {
        rule["alert"]: rule
        for each in objects
        if each["kind"] == "PrometheusRule"
        for group in each["spec"]["groups"]
        for rule in group["rules"]
        if "alert" in rule
    }


@pytest.mark.real
def test_the_documented_replacements_change_an_alert_by_its_name(tmp_path: Path) -> None:
    page = (DEPLOY / "rules.md").read_text().partition("## kustomize")[2]
    kustomization, values = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    shutil.copy(RULE_OBJECTS, tmp_path)
    (tmp_path / "kustomization.yaml").write_text(kustomization.replace("../plain", RULE_OBJECTS.name))
    (tmp_path / "values.yaml").write_text(values)
    shipped, changed = _rules(documents(RULE_OBJECTS.read_text())), _rules(kustomize(tmp_path))
    waf, former = changed.pop("EdgeShieldProtectionOff"), shipped.pop("EdgeShieldProtectionOff")
    assert changed == shipped
    assert waf == {
        **former,
        "for": "10m",
        "labels": {**former["labels"], "severity": "page"},
        "annotations": {
            **former["annotations"],
            "runbook_url": "https://wiki.example.net/deploy/runbooks/EdgeShieldProtectionOff.md",
        },
    }
