import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter.assets.alert_rules import parse_changes, render, threshold_names
from exporter.settings.model import Settings
from tests.deploy.files import (
    DASHBOARDS,
    DEPLOY,
    PORT,
    RELEASE,
    RULES,
    STATE_FOLDER,
    Document,
    containers,
    document,
    documents,
    environment,
    known_variables,
    of_kind,
    secret_files,
    settings_from,
    workload_of,
)
from tests.deploy.programs import run
from tests.real_parts import find_promtool
from tests.rules.rule_files import load_alerts

CHART = DEPLOY / "helm" / "edge-exporter"
EXAMPLES = sorted((CHART / "ci").glob("*-values.yaml"))
BY_EXAMPLE = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name.removesuffix("-values.yaml"))
SHARDED = CHART / "ci" / "sharded-values.yaml"
DATABASE = CHART / "ci" / "database-values.yaml"
ACCOUNT = ("--set", "baseUrl=https://api.example.net", "--set", "apiKey.existingSecret=edge-key")

Helm = Callable[..., str]


def _objects(helm: Helm, *arguments: str) -> list[Document]:
    return documents(helm("template", "edge", str(CHART), "--kube-version", "1.34", *arguments))


def _exporter(objects: list[Document]) -> Document:
    (container,) = containers(workload_of(objects))
    return container


def _config_map(objects: list[Document]) -> str:
    found = [each["data"] for each in objects if each["kind"] == "ConfigMap" and "config.yaml" in each["data"]]
    return str(found[0]["config.yaml"]) if found else ""


def _leaves(values: Document, path: str = "") -> Iterator[str]:
    """Yield the path of every value; a value with free content is one path."""
    for key, value in values.items():
        if isinstance(value, dict) and value and key not in ("resources", "labels", "annotations"):
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


@pytest.mark.real
@BY_EXAMPLE
def test_the_chart_passes_the_strict_linter(helm: Helm, example: Path) -> None:
    said = helm("lint", "--strict", str(CHART), "--values", str(example))
    assert "1 chart(s) linted, 0 chart(s) failed" in said


@pytest.mark.real
def test_the_chart_passes_the_strict_linter_with_nothing_set(helm: Helm) -> None:
    assert "1 chart(s) linted, 0 chart(s) failed" in helm("lint", "--strict", str(CHART))


@pytest.mark.real
@BY_EXAMPLE
def test_what_an_example_makes_is_valid(
    helm: Helm, kubernetes_validate: Callable[[list[Document]], None], example: Path
) -> None:
    objects = _objects(helm, "--values", str(example))
    kubernetes_validate(objects)
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(names) == len(set(names))


@pytest.mark.real
@pytest.mark.parametrize("example", [path for path in EXAMPLES if "demo" not in path.name], ids=lambda path: path.name)
def test_the_exporter_takes_what_an_example_tells_it(helm: Helm, tmp_path: Path, example: Path) -> None:
    objects = _objects(helm, "--values", str(example))
    workload = workload_of(objects)
    exporter = _exporter(objects)
    given = environment(exporter)
    config = _config_map(objects)
    assert given.keys() <= known_variables()
    shards = 0 if workload["kind"] == "Deployment" else workload["spec"]["replicas"]
    for ordinal in range(shards):
        host = f"{workload['metadata']['name']}-{ordinal}"
        # The web configuration is not read until the daemon starts.
        settings = settings_from(given, tmp_path, config=config, host_name=host)
        assert (settings.shard.resolve(host), settings.shard.total) == (ordinal, shards)
    mounts = {mount["mountPath"] for mount in exporter["volumeMounts"]}
    key = {given["EDGE_EXPORTER_API_KEY_FILE"]} if "EDGE_EXPORTER_API_KEY_FILE" in given else set()
    assert {str(Path(name).parent) for name in secret_files(config) | key} <= mounts


@pytest.mark.real
def test_the_demo_listens_where_the_probes_ask(helm: Helm) -> None:
    exporter = _exporter(_objects(helm, "--set", "demo=true"))
    assert exporter["args"] == ["demo", "--listen", f":{PORT}"]


@pytest.mark.real
def test_numbers_of_a_configuration_stay_what_they_are(helm: Helm) -> None:
    config = yaml.safe_load(_config_map(_objects(helm, "--values", str(SHARDED))))
    assert config == document(SHARDED)["config"]


@pytest.mark.real
def test_paths_and_schemes_follow_the_prefix_and_tls(helm: Helm) -> None:
    objects = _objects(helm, "--values", str(SHARDED))
    exporter = _exporter(objects)
    probes = [exporter[kind]["httpGet"] for kind in ("startupProbe", "livenessProbe", "readinessProbe")]
    (endpoint,) = of_kind(objects, "ServiceMonitor")["spec"]["endpoints"]
    (tried,) = containers(of_kind(objects, "Pod"))
    assert [probe["path"] for probe in probes] == ["/edge/-/healthy", "/edge/-/healthy", "/edge/-/ready"]
    assert {probe["scheme"] for probe in probes} == {"HTTPS"}
    assert (endpoint["path"], endpoint["scheme"]) == ("/edge/metrics", "https")
    host = "edge-edge-exporter"
    assert tried["command"][3:] == [f"https://{host}-{ordinal}.{host}:{PORT}/edge/-/healthy" for ordinal in range(4)]


@pytest.mark.real
def test_the_chart_says_of_a_pod_what_the_manifests_say(helm: Helm, kustomize: Callable[..., list[Document]]) -> None:
    ours = _objects(helm, *ACCOUNT, "--set", "monitor.enabled=true", "--set", "networkPolicy.enabled=true")
    theirs = kustomize("overlays/plain")
    mine, other = _exporter(ours), _exporter(theirs)
    assert mine["image"] == other["image"]
    for part in ("securityContext", "resources", "ports", "args"):
        assert mine[part] == other[part], part
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert mine[probe] == {**other[probe], "httpGet": {**other[probe]["httpGet"], "scheme": "HTTP"}}, probe
    pods = [of_kind(objects, "StatefulSet")["spec"]["template"]["spec"] for objects in (ours, theirs)]
    for part in ("securityContext", "terminationGracePeriodSeconds", "automountServiceAccountToken"):
        assert pods[0][part] == pods[1][part], part
    endpoints = [of_kind(objects, "PodMonitor")["spec"]["podMetricsEndpoints"] for objects in (ours, theirs)]
    assert endpoints[0] == endpoints[1]
    egress = [of_kind(objects, "NetworkPolicy")["spec"]["egress"] for objects in (ours, theirs)]
    assert egress[0] == egress[1]


@pytest.mark.real
@BY_EXAMPLE
def test_selectors_find_the_exporter_and_not_the_test_s_pod(helm: Helm, example: Path) -> None:
    objects = _objects(helm, "--values", str(example))
    workload = workload_of(objects)["spec"]
    found = [of_kind(objects, "Service")["spec"]["selector"], workload["selector"]["matchLabels"]]
    found += [each["spec"]["selector"]["matchLabels"] for each in objects if each["kind"] == "PodDisruptionBudget"]
    found += [each["spec"]["podSelector"]["matchLabels"] for each in objects if each["kind"] == "NetworkPolicy"]
    found += [each["spec"]["selector"]["matchLabels"] for each in objects if each["kind"] == "PodMonitor"]
    labels = workload["template"]["metadata"]["labels"].items()
    others = of_kind(objects, "Pod")["metadata"]["labels"].items()
    assert all(selector.items() <= labels and not selector.items() <= others for selector in found)


@pytest.mark.real
def test_state_is_a_volume_claim_or_goes_with_the_pod(helm: Helm) -> None:
    kept = of_kind(_objects(helm, *ACCOUNT), "StatefulSet")["spec"]
    passing = of_kind(_objects(helm, *ACCOUNT, "--set", "persistence.enabled=false"), "StatefulSet")["spec"]
    assert [claim["metadata"]["name"] for claim in kept["volumeClaimTemplates"]] == ["state"]
    assert "volumeClaimTemplates" not in passing
    assert {"name": "state", "emptyDir": {}} in passing["template"]["spec"]["volumes"]
    mounts = kept["template"]["spec"]["containers"][0]["volumeMounts"]
    assert {"name": "state", "mountPath": STATE_FOLDER} in mounts


@pytest.mark.real
def test_rules_and_dashboards_are_those_of_their_one_place(helm: Helm) -> None:
    enabled = ("--set", "prometheusRule.enabled=true", "--set", "dashboards.enabled=true")
    objects = _objects(helm, *ACCOUNT, *enabled)
    rules = {
        each["metadata"]["name"].removeprefix("edge-edge-exporter-"): each["spec"]
        for each in objects
        if each["kind"] == "PrometheusRule"
    }
    dashboards = {name: text for each in objects if each["kind"] == "ConfigMap" for name, text in each["data"].items()}
    assert rules == {path.stem: yaml.load(path.read_text(), yaml.CSafeLoader) for path in RULES.glob("*.yml")}
    assert {name: yaml.load(text, yaml.CSafeLoader) for name, text in dashboards.items()} == {
        path.name: yaml.load(path.read_text(), yaml.CSafeLoader) for path in DASHBOARDS.glob("*.json")
    }


def test_the_chart_holds_links_and_no_copies() -> None:
    assert (CHART / "files" / "rules").is_symlink()
    assert (CHART / "files" / "dashboards").is_symlink()
    assert (CHART / "files" / "rules").resolve() == RULES
    assert (CHART / "files" / "dashboards").resolve() == DASHBOARDS


@pytest.mark.real
def test_a_packaged_chart_carries_rules_and_dashboards(helm: Helm, tmp_path: Path) -> None:
    helm("package", str(CHART), "--destination", str(tmp_path))
    (package,) = tmp_path.glob("*.tgz")
    enabled = ("--set", "prometheusRule.enabled=true", "--set", "dashboards.enabled=true")
    objects = documents(helm("template", "edge", str(package), *ACCOUNT, *enabled))
    kinds = [each["kind"] for each in objects]
    assert kinds.count("PrometheusRule") == len(list(RULES.glob("*.yml")))
    assert kinds.count("ConfigMap") == len(list(DASHBOARDS.glob("*.json")))


@pytest.mark.real
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "nothing to poll: set baseUrl"),
        (("--set", "baseUrl=https://api.example.net"), "baseUrl needs a key"),
        ((*ACCOUNT, "--set", "apiKey.value=x"), "both set"),
        ((*ACCOUNT, "--set", "demo=true"), "set either demo"),
        (("--set", "demo=true", "--set", "shards=2"), "demo is one exporter"),
        (("--values", str(SHARDED), "--set", "baseUrl=https://api.example.net"), "are for one account"),
        ((*ACCOUNT, "--set", "shard=2"), "shard is not allowed"),
        ((*ACCOUNT, "--set", "shards=0"), "shards: Must be greater than or equal to 1"),
        ((*ACCOUNT, "--set", "monitor.kind=Probe"), "monitor.kind"),
        ((*ACCOUNT, "--set", "fullnameOverride=edge"), "fullnameOverride"),
        (("--set", "config.accounts[0].api_key=x"), "config.accounts.0.api_key"),
        (("--set", "config.databases[0].auth_token=x"), "config.databases.0.auth_token"),
        ((*ACCOUNT, "--set", "config.shard.total=2"), "config.shard"),
    ],
)
def test_values_that_cannot_be_are_refused(helm: Helm, arguments: tuple[str, ...], reason: str) -> None:
    assert reason in helm("template", "edge", str(CHART), *arguments, refuses=True)


def test_the_schema_knows_every_section_of_the_configuration() -> None:
    schema = document(CHART / "values.schema.json")
    assert set(schema["properties"]["config"]["properties"]) == set(Settings.model_fields)


def test_every_value_is_used_and_described_by_the_schema() -> None:
    templates = "".join(path.read_text() for path in (CHART / "templates").rglob("*") if path.is_file())
    properties = document(CHART / "values.schema.json")["properties"]
    for path in _leaves(document(CHART / "values.yaml")):
        assert re.search(rf"\.Values\.{re.escape(path)}\b", templates), path
        described = properties
        for step in path.split("."):
            described = described.get("properties", described)[step]


def test_the_versions_are_the_changelog_s_newest() -> None:
    chart = document(CHART / "Chart.yaml")
    assert (chart["version"], chart["appVersion"]) == (RELEASE, RELEASE)


@pytest.mark.real
def test_every_value_of_every_alert_changes_as_the_renderer_changes_it(helm: Helm, tmp_path: Path) -> None:
    shipped = {path.name: path.read_text() for path in sorted(RULES.glob("*.yml"))}
    alerts = load_alerts()
    thresholds = {alert.name: threshold_names(alert.expr) for alert in alerts}
    overrides: dict[str, Any] = {
        alert.name: {
            "for": f"{number}m",
            "keep_firing_for": f"{number}h",
            "severity": f"severity-{number}",
            "labels": {"team": f"team-{number}"},
            "annotations": {"note": f"note {number}"},
            **({"thresholds": dict.fromkeys(names, number + 0.5)} if (names := thresholds[alert.name]) else {}),
        }
        for number, alert in enumerate(alerts, 1)
        if alert.name not in ("EdgeWatchdog", "EdgeLedgerDown")
    }
    values = {
        "enabled": True,
        "labels": {"release": "stack"},
        "alertLabels": {"site": "north"},
        "severities": {"critical": "page"},
        "runbookBase": "https://wiki.example.net/edge",
        "disabled": ["EdgeWatchdog"],
        "overrides": overrides,
    }
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump({"prometheusRule": values}))
    objects = [
        each
        for each in documents(helm("template", "edge", str(CHART), *ACCOUNT, "--values", str(file)))
        if each["kind"] == "PrometheusRule"
    ]
    assignments = ["label.site=north", "severity.critical=page", "runbook_base=https://wiki.example.net/edge"]
    assignments += ["disabled=EdgeWatchdog"]
    for name, change in overrides.items():
        assignments += [f"{name}.{key}={change[key]}" for key in ("for", "keep_firing_for", "severity")]
        assignments += [
            f"{name}.label.team={change['labels']['team']}",
            f"{name}.annotation.note={change['annotations']['note']}",
        ]
        assignments += [f"{name}.threshold.{each}={number}" for each, number in change.get("thresholds", {}).items()]
    rendered = render(shipped, parse_changes(assignments))
    assert {
        each["metadata"]["name"].removeprefix("edge-edge-exporter-") + ".yml": each["spec"] for each in objects
    } == {name: yaml.load(text, yaml.CSafeLoader) for name, text in rendered.items()}
    assert all(each["metadata"]["labels"]["release"] == "stack" for each in objects)
    rules = tmp_path / "rules.yml"
    for each in objects:
        rules.write_text(yaml.safe_dump(each["spec"]))
        checked = run(find_promtool(), "check", "rules", str(rules))
        assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.real
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("disabled={EdgeNone}", "EdgeNone is no alert"),
        ("overrides.EdgeNone.for=1m", "EdgeNone is no alert"),
        ("overrides.EdgeDnsQueriesSurge.for=soon", "prometheusRule.overrides.EdgeDnsQueriesSurge.for"),
        ("overrides.EdgeDnsQueriesSurge.thresholds.x=1", "the alert has no threshold x"),
        ("overrides.EdgeDnsQueriesSurge.thresholds.factor=many", "thresholds.factor"),
        ("overrides.EdgeDnsQueriesSurge.form=1m", "form is not allowed"),
        ("severities.page=x", "page is no severity"),
    ],
)
def test_a_change_of_the_rules_that_cannot_be_made_is_refused(helm: Helm, value: str, reason: str) -> None:
    changed = ("--set", "prometheusRule.enabled=true", "--set", f"prometheusRule.{value}")
    refused = helm("template", "edge", str(CHART), *ACCOUNT, *changed, refuses=True)
    assert reason in refused


@pytest.mark.real
def test_counters_in_a_database_need_no_volume(helm: Helm, tmp_path: Path) -> None:
    objects = _objects(helm, "--namespace", "monitoring", "--values", str(DATABASE))
    workload, exporter = of_kind(objects, "StatefulSet"), _exporter(objects)
    given = environment(exporter)
    assert "volumeClaimTemplates" not in workload["spec"]
    assert given["EDGE_EXPORTER_STATE__URL_FILE"] == "/etc/edge-exporter/state/address"
    volumes = {volume["name"]: volume for volume in workload["spec"]["template"]["spec"]["volumes"]}
    assert volumes["state-url"]["secret"]["secretName"] == "edge-state"
    assert volumes["state"] == {"name": "state", "emptyDir": {}}
    settings = settings_from(given, tmp_path, config=_config_map(objects), host_name="edge-edge-exporter-1")
    assert (settings.state.is_shared, settings.state.installation) == (True, "monitoring/edge-edge-exporter")
    egress = of_kind(objects, "NetworkPolicy")["spec"]["egress"]
    assert {"ports": [{"port": 6432, "protocol": "TCP"}]} in egress


@pytest.mark.real
def test_exporters_that_share_shards_by_leases_are_a_deployment_without_a_volume(helm: Helm, tmp_path: Path) -> None:
    objects = _objects(helm, "--namespace", "monitoring", "--values", str(CHART / "ci" / "leases-values.yaml"))
    workload, exporter = of_kind(objects, "Deployment"), _exporter(objects)
    settings = settings_from(environment(exporter), tmp_path, config=_config_map(objects), host_name="any")
    assert (settings.shard.is_leased, settings.shard.total, workload["spec"]["replicas"]) == (True, 12, 3)
    assert settings.state.is_shared
    volumes = {volume["name"] for volume in workload["spec"]["template"]["spec"]["volumes"]}
    assert volumes == {"tmp", "state-url", "api-key"}
    assert {mount["name"] for mount in exporter["volumeMounts"]} == volumes
    assert {"serviceName", "podManagementPolicy", "volumeClaimTemplates"} & workload["spec"].keys() == set()
    assert of_kind(objects, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1


@pytest.mark.real
def test_without_a_database_no_port_is_open_for_one(helm: Helm) -> None:
    objects = _objects(helm, *ACCOUNT, "--set", "networkPolicy.enabled=true")
    ports = [port["port"] for rule in of_kind(objects, "NetworkPolicy")["spec"]["egress"] for port in rule["ports"]]
    assert sorted(ports) == [53, 53, 443]
