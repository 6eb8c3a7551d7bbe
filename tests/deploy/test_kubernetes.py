import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from prometheus_client import CollectorRegistry

from exporter.collectors.catalogue import families
from exporter.exposition.status_board import HEALTH
from exporter.telemetry import Telemetry
from tests.deploy.files import (
    DASHBOARDS,
    DEPLOY,
    PORT,
    RELEASE,
    RULES,
    STATE_FOLDER,
    USER,
    Document,
    containers,
    documents,
    environment,
    known_variables,
    of_kind,
    secret_files,
    settings_from,
    workload_of,
)
from tests.deploy.programs import run
from tests.real_parts import find

FOLDER = DEPLOY / "kubernetes"
RULE_OBJECTS = FOLDER / "monitoring" / "prometheusrules.yaml"
GENERATOR = FOLDER / "generate_rules.py"
OVERLAYS = ("overlays/plain", "overlays/sharded", "overlays/leases")
BY_OVERLAY = pytest.mark.parametrize("overlay", OVERLAYS)

Build = Callable[..., list[Document]]


def _exporter(objects: list[Document]) -> Document:
    (container,) = containers(workload_of(objects))
    return container


def _config(objects: list[Document]) -> str:
    return str(of_kind(objects, "ConfigMap")["data"]["config.yaml"])


@pytest.mark.real
@BY_OVERLAY
def test_an_overlay_is_valid(
    kustomize: Build, kubernetes_validate: Callable[[list[Document]], None], overlay: str
) -> None:
    objects = kustomize(overlay)
    kubernetes_validate(objects)
    assert {each["metadata"]["namespace"] for each in objects} == {"monitoring"}
    assert {each["kind"] for each in objects} == {
        "ConfigMap",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "PodMonitor",
        "PrometheusRule",
        "Service",
        "ServiceAccount",
        "Deployment" if overlay == "overlays/leases" else "StatefulSet",
    }


@pytest.mark.real
@BY_OVERLAY
def test_the_exporter_takes_what_an_overlay_tells_it(kustomize: Build, tmp_path: Path, overlay: str) -> None:
    objects = kustomize(overlay)
    workload = workload_of(objects)
    given = environment(_exporter(objects))
    assert given.keys() <= known_variables()
    if workload["kind"] == "Deployment":
        settings = settings_from(given, tmp_path, config=_config(objects), host_name="any")
        assert (settings.shard.is_leased, settings.shard.total, settings.state.is_shared) == (True, 12, True)
        return
    shards = workload["spec"]["replicas"]
    for ordinal in range(shards):
        name = f"{workload['metadata']['name']}-{ordinal}"
        settings = settings_from(given, tmp_path, config=_config(objects), host_name=name)
        assert (settings.shard.resolve(name), settings.shard.total) == (ordinal, shards)


@pytest.mark.real
def test_one_number_makes_the_shards(kustomize: Build) -> None:
    objects = kustomize("overlays/sharded")
    spec = of_kind(objects, "StatefulSet")["spec"]
    assert (spec["replicas"], spec["podManagementPolicy"]) == (3, "Parallel")
    assert environment(_exporter(objects))["EDGE_EXPORTER_SHARD__TOTAL"] == "3"


@pytest.mark.real
@BY_OVERLAY
def test_everything_finds_the_pods(kustomize: Build, overlay: str) -> None:
    objects = kustomize(overlay)
    workload = workload_of(objects)["spec"]
    service = of_kind(objects, "Service")
    labels = workload["template"]["metadata"]["labels"].items()
    selectors = [
        service["spec"]["selector"],
        workload["selector"]["matchLabels"],
        of_kind(objects, "PodMonitor")["spec"]["selector"]["matchLabels"],
        of_kind(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        of_kind(objects, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
    ]
    assert all(selector and selector.items() <= labels for selector in selectors)
    assert workload.get("serviceName", service["metadata"]["name"]) == service["metadata"]["name"]
    assert (service["spec"]["clusterIP"], service["spec"]["publishNotReadyAddresses"]) == ("None", True)


@pytest.mark.real
@BY_OVERLAY
def test_every_port_is_the_one_that_the_image_listens_on(kustomize: Build, overlay: str) -> None:
    objects = kustomize(overlay)
    exporter = _exporter(objects)
    probes = [exporter[kind]["httpGet"] for kind in ("startupProbe", "livenessProbe", "readinessProbe")]
    (endpoint,) = of_kind(objects, "PodMonitor")["spec"]["podMetricsEndpoints"]
    (published,) = of_kind(objects, "Service")["spec"]["ports"]
    (ingress,) = of_kind(objects, "NetworkPolicy")["spec"]["ingress"]
    assert exporter["ports"] == [{"name": "http", "containerPort": PORT}]
    assert (published["port"], published["targetPort"]) == (PORT, "http")
    assert {probe["port"] for probe in probes} | {endpoint["port"]} | {ingress["ports"][0]["port"]} == {"http"}
    assert [probe["path"] for probe in probes] == ["/-/healthy", "/-/healthy", "/-/ready"]


@pytest.mark.real
@BY_OVERLAY
def test_a_pod_has_no_privilege_and_no_place_to_write_but_its_volumes(kustomize: Build, overlay: str) -> None:
    objects = kustomize(overlay)
    pod = workload_of(objects)["spec"]["template"]["spec"]
    exporter = _exporter(objects)
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert exporter["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = {mount["mountPath"] for mount in exporter["volumeMounts"] if not mount.get("readOnly")}
    state = set() if overlay == "overlays/leases" else {STATE_FOLDER}
    assert writable == {*state, "/tmp"}  # noqa: S108 - a mount inside the pod
    assert (pod["automountServiceAccountToken"], pod["enableServiceLinks"]) == (False, False)


@pytest.mark.real
@BY_OVERLAY
def test_the_key_is_a_file_of_a_secret_and_the_state_a_volume_or_a_database(kustomize: Build, overlay: str) -> None:
    objects = kustomize(overlay)
    spec = workload_of(objects)["spec"]
    mounts = {mount["mountPath"]: mount["name"] for mount in _exporter(objects)["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in spec["template"]["spec"]["volumes"]}
    (key,) = secret_files(_config(objects))
    assert volumes[mounts[str(Path(key).parent)]]["secret"] == {"secretName": "edge-exporter", "defaultMode": 0o440}
    if overlay == "overlays/leases":
        url = environment(_exporter(objects))["EDGE_EXPORTER_STATE__URL_FILE"]
        assert volumes[mounts[str(Path(url).parent)]]["secret"]["secretName"] == "edge-exporter-state"
        assert "volumeClaimTemplates" not in spec
        egress = of_kind(objects, "NetworkPolicy")["spec"]["egress"]
        assert {"ports": [{"port": 5432, "protocol": "TCP"}]} in egress
    else:
        assert mounts[STATE_FOLDER] in [claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]]


@pytest.mark.real
@BY_OVERLAY
def test_the_image_is_of_the_changelog_s_newest_version(kustomize: Build, overlay: str) -> None:
    image = f"edge-exporter/edge-exporter:{RELEASE}"
    assert _exporter(kustomize(overlay))["image"] == image


@pytest.mark.real
def test_the_monitor_scrapes_as_the_shipped_prometheus_does(kustomize: Build) -> None:
    prometheus = yaml.load((DEPLOY / "prometheus" / "prometheus.yml").read_text(), yaml.CSafeLoader)
    (job,) = prometheus["scrape_configs"]
    (endpoint,) = of_kind(kustomize("overlays/plain"), "PodMonitor")["spec"]["podMetricsEndpoints"]
    assert endpoint["honorLabels"] == job["honor_labels"]
    assert endpoint["interval"] == prometheus["global"]["scrape_interval"]
    assert endpoint["scrapeTimeout"] == prometheus["global"]["scrape_timeout"]
    assert endpoint["relabelings"] == [{"sourceLabels": ["__meta_kubernetes_pod_name"], "targetLabel": "instance"}]
    rules = [(rule["sourceLabels"], rule["targetLabel"], rule["regex"]) for rule in endpoint["metricRelabelings"]]
    theirs = job["metric_relabel_configs"]
    assert rules == [(rule["source_labels"], rule["target_label"], rule["regex"]) for rule in theirs]


def test_the_series_of_targets_have_one_identity_and_those_of_the_process_keep_theirs() -> None:
    prometheus = yaml.load((DEPLOY / "prometheus" / "prometheus.yml").read_text(), yaml.CSafeLoader)
    rules = prometheus["scrape_configs"][0]["metric_relabel_configs"]
    assert {rule["target_label"] for rule in rules} == {"instance", "pod"}
    (pattern,) = {rule["regex"] for rule in rules}
    process = [info.name for info in Telemetry(CollectorRegistry(), "").families()]
    own = [name for name in process if name.startswith(("edge_up", "edge_api_", "edge_exporter_"))]
    of_targets = [info.name for info in (*families(), *HEALTH)]
    assert [name for name in of_targets if not re.fullmatch(pattern, name)] == []
    assert [name for name in (*own, "up", "process_cpu_seconds_total") if re.fullmatch(pattern, name)] == []


def test_the_rule_objects_are_what_the_rules_generate() -> None:
    done = run(sys.executable, str(GENERATOR), "--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_rule_objects_hold_the_rules_file_by_file() -> None:
    objects = documents(RULE_OBJECTS.read_text())
    held = {each["metadata"]["name"].removeprefix("edge-exporter-"): each["spec"] for each in objects}
    assert held == {path.stem: yaml.load(path.read_text(), yaml.CSafeLoader) for path in RULES.glob("*.yml")}


def test_a_rule_that_is_changed_in_one_place_is_noticed(tmp_path: Path) -> None:
    copied = tmp_path / "deploy" / "kubernetes"
    for path in (*RULES.glob("*.yml"), RULE_OBJECTS, GENERATOR):
        target = tmp_path / "deploy" / path.relative_to(DEPLOY)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text())
    rule = tmp_path / "deploy" / "prometheus" / "rules" / "dns.yml"
    rule.write_text(rule.read_text().replace("for: 15m", "for: 16m", 1))
    script = str(copied / GENERATOR.name)
    assert run(sys.executable, script, "--check").returncode == 1
    assert run(sys.executable, script).returncode == 0
    assert run(sys.executable, script, "--check").returncode == 0
    written = (copied / "monitoring" / RULE_OBJECTS.name).read_text()
    assert "for: 16m" in written


@pytest.mark.real
def test_the_dashboards_config_maps_hold_the_dashboards(
    kustomize: Build, kubernetes_validate: Callable[[list[Document]], None]
) -> None:
    objects = kustomize("dashboards", "--load-restrictor", "LoadRestrictionsNone")
    kubernetes_validate(objects)
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


def test_the_generator_writes_rules_with_changed_values(tmp_path: Path) -> None:
    output = tmp_path / "rules.yaml"
    changes = ("severity.critical=page", "EdgeDnsQueriesSurge.threshold.factor=5", "disabled=EdgeWatchdog")
    options = [word for change in changes for word in ("--set", change)]
    assert run(sys.executable, str(GENERATOR), *options, "--output", str(output)).returncode == 0
    rules = _rules(documents(output.read_text()))
    assert "EdgeWatchdog" not in rules
    assert rules["EdgeWafSwitchedOff"]["labels"]["severity"] == "page"
    assert rules["EdgeDnsQueriesSurge"]["expr"].count("5  # threshold: factor") == 2
    refused = run(sys.executable, str(GENERATOR), "--set", "EdgeNone.for=1m", "--output", str(output))
    assert (refused.returncode, "EdgeNone: no shipped alert has this name" in refused.stderr) == (2, True)
    assert run(sys.executable, str(GENERATOR), *options).returncode == 2


@pytest.mark.real
def test_the_documented_replacements_change_an_alert_by_its_name(tmp_path: Path) -> None:
    page = (DEPLOY / "rules.md").read_text()
    kustomization, values = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    shutil.copy(RULE_OBJECTS, tmp_path)
    (tmp_path / "kustomization.yaml").write_text(kustomization.replace("../plain", RULE_OBJECTS.name))
    (tmp_path / "values.yaml").write_text(values)
    kubectl = find("kubectl")
    built = run(kubectl, "kustomize", str(tmp_path))
    assert (built.returncode, built.stderr) == (0, "")
    shipped, changed = _rules(documents(RULE_OBJECTS.read_text())), _rules(documents(built.stdout))
    waf, former = changed.pop("EdgeWafSwitchedOff"), shipped.pop("EdgeWafSwitchedOff")
    assert changed == shipped
    assert waf == {
        **former,
        "for": "10m",
        "labels": {**former["labels"], "severity": "page"},
        "annotations": {
            **former["annotations"],
            "runbook_url": "https://wiki.example.net/deploy/runbooks/EdgeWafSwitchedOff.md",
        },
    }
