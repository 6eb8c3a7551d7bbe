import json
import re
import sys
import tarfile
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import pytest
import yaml

from exporter.settings.model import Settings
from tests.deploy.files import DASHBOARDS, DEPLOY, RELEASE, RULES, Document, document, documents, run
from tests.deploy.objects import RENDERED, check_objects, of_kind
from tests.golden import assert_golden
from tests.http_answers import answering

CHART = DEPLOY / "helm" / "edge-exporter"
EXAMPLES = sorted((CHART / "ci").glob("*-values.yaml"))
BY_EXAMPLE = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name.removesuffix("-values.yaml"))
SHARDED = ("--values", str(CHART / "ci" / "sharded-values.yaml"))
LINTED = "1 chart(s) linted, 0 chart(s) failed"
IMAGE = ("--set", "image.repository=localhost/edge-exporter")
ACCOUNT = (*IMAGE, "--set", "baseUrl=https://api.example.net", "--set", "apiKey.existingSecret=edge-key")


def helm(*arguments: str, refuses: bool = False) -> str:
    """Run Helm, and return its output; with `refuses` it must fail, and its error is returned."""
    done = run("helm", *arguments)
    assert (done.returncode != 0) == refuses, done.stdout + done.stderr
    return done.stderr if refuses else done.stdout


def _objects(*arguments: str, chart: Path = CHART) -> list[Document]:
    fixed = ("--namespace", "monitoring", "--kube-version", "1.34")
    return documents(helm("template", "edge", str(chart), *fixed, *arguments))


def _leaves(values: Document, path: str = "") -> Iterator[str]:
    """Yield the path of every value; a value with free content is one path."""
    for key, value in values.items():
        is_free = key in ("resources", "labels", "annotations", "jobs") or key.endswith(("Probe", "ecurityContext"))
        if isinstance(value, dict) and value and not is_free:
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


@pytest.mark.real
@BY_EXAMPLE
def test_an_example_is_valid_and_what_the_exporter_takes(tmp_path: Path, example: Path) -> None:
    assert LINTED in helm("lint", "--strict", str(CHART), "--values", str(example))
    golden = f"helm-{example.name.removesuffix('-values.yaml')}"
    check_objects(_objects("--values", str(example)), tmp_path, golden, "monitoring/edge-edge-exporter")


@pytest.mark.real
def test_the_test_of_a_release_asks_every_pod_and_counts_them() -> None:
    objects = _objects("--values", str(CHART / "ci" / "spare-values.yaml"))
    (container,) = of_kind(objects, "Pod")["spec"]["containers"]
    interpreter, option, code, *arguments = container["command"]
    assert (interpreter, option, arguments) == ("python", "-c", ["http", "edge-edge-exporter", "/-/healthy", "3"])

    with answering(lambda request, _: (200 if request.path == "/-/healthy" else 404, b"")) as url:
        here = code.replace("9877", url.rpartition(":")[2])
        ends = {
            (path, expected): run(sys.executable, "-c", here, "http", "127.0.0.1", path, expected)
            for path, expected in (("/-/healthy", "1"), ("/-/healthy", "3"), ("/-/ready", "1"))
        }
    assert [done.returncode for done in ends.values()] == [0, 1, 1]
    assert ends["/-/healthy", "3"].stderr.strip() == "127.0.0.1 leads to 1 of 3 exporters"


@pytest.mark.real
@pytest.mark.parametrize("example", ["account", "demo", "openshift", "sharded", "spare"])
def test_the_notes_name_what_there_is(tmp_path: Path, example: str) -> None:
    values = tmp_path / "values.yaml"
    notes = '{kind: Notes, text: {{ include (print $.Template.BasePath "/NOTES.txt") $ | toJson }}}'
    values.write_text(yaml.safe_dump({"extraObjects": [notes]}))
    objects = _objects("--values", str(CHART / "ci" / f"{example}-values.yaml"), "--values", str(values))
    assert_golden(of_kind(objects, "Notes")["text"] + "\n", RENDERED / f"notes-{example}.txt")


@pytest.mark.real
def test_a_packaged_chart_carries_the_rules_and_dashboards_of_their_one_place(tmp_path: Path) -> None:
    helm("package", str(CHART), "--destination", str(tmp_path))
    (package,) = tmp_path.glob("*.tgz")
    with tarfile.open(package) as archive:
        assert {Path(name).suffix for name in archive.getnames()} <= {".json", ".md", ".tpl", ".txt", ".yaml", ".yml"}
    enabled = ("--set", "prometheusRule.enabled=true", "--set", "dashboards.enabled=true")
    objects = _objects(*ACCOUNT, *enabled, chart=package)
    held = {each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == "PrometheusRule"}
    dashboards = {name: text for each in objects if each["kind"] == "ConfigMap" for name, text in each["data"].items()}
    assert held == {f"edge-edge-exporter-{path.stem}": document(path) for path in RULES.glob("*.yml")}
    assert {name: yaml.load(text, yaml.CSafeLoader) for name, text in dashboards.items()} == {
        path.name: document(path) for path in DASHBOARDS.glob("*.json")
    }


RULE = (*ACCOUNT, "--set", "prometheusRule.enabled=true")


@pytest.mark.real
@pytest.mark.parametrize(
    ("others", "value", "reason"),
    [
        (IMAGE, "baseUrl=", "nothing to poll: set baseUrl"),
        ((), "demo=true", "image.repository is required: build the image, push it as REPOSITORY:"),
        (IMAGE, "baseUrl=https://api.example.net", "baseUrl needs a key"),
        (ACCOUNT, "apiKey.value=x", "both set"),
        (ACCOUNT, "demo=true", "set either demo"),
        (IMAGE, "demo=true,shards=2", "demo is one exporter"),
        (SHARDED, "baseUrl=https://api.example.net", "are for one account"),
        (SHARDED, "persistence.existingClaim=x", "is the volume of one shard"),
        (ACCOUNT, "spares=1", "spares need the counters in a database"),
        (ACCOUNT, "shard=2", "shard is not allowed"),
        (ACCOUNT, "shards=0", "shards: Must be greater than or equal to 1"),
        (ACCOUNT, "monitor.kind=Probe", "monitor.kind"),
        (ACCOUNT, "service.type=Headless", "service.type"),
        (ACCOUNT, "readinessProbe.httpGet.path=/", "httpGet is not allowed"),
        (ACCOUNT, "fullnameOverride=edge", "fullnameOverride"),
        ((), "config.accounts[0].api_key=x", "config.accounts.0.api_key"),
        ((), "config.databases[0].auth_token=x", "config.databases.0.auth_token"),
        (ACCOUNT, "config.shard.total=2", "config.shard"),
        (ACCOUNT, "config.web.listen=:9000", "config.web.listen: Does not match pattern ':9877$'"),
        (ACCOUNT, "extraEnv[0].name=A,extraEnv[1].name=A", "extraEnv: A is set twice"),
        (ACCOUNT, "extraEnv[0].name=EDGE_EXPORTER_SHARD__TOTAL", "SHARD__TOTAL is set twice, or is one that"),
        (ACCOUNT, "persistence.size=1GB", "persistence.size: Does not match"),
        (ACCOUNT, "resources.limits.memry=1Gi", 'Property name of "memry" does not match'),
        (ACCOUNT, "securityContext.readonlyRootFilesystem=true", "readonlyRootFilesystem is not allowed"),
        (ACCOUNT, "podSecurityContext.runAsuser=1", "runAsuser is not allowed"),
        (ACCOUNT, "existingConfigSecret=x,config.log.level=info", "existingConfigSecret are both"),
        (ACCOUNT, "ingress.enabled=true", "ingress.enabled needs service.type"),
        (ACCOUNT, "probes=null", "no value probes: --reuse-values leaves out values that this version"),
        (RULE, "prometheusRule.disabled={EdgeNone}", "EdgeNone is no alert"),
        (RULE, "prometheusRule.overrides.EdgeNone.for=1m", "EdgeNone is no alert"),
        (RULE, "prometheusRule.overrides.EdgeWatchdog.for=soon", "prometheusRule.overrides.EdgeWatchdog.for"),
        (RULE, "prometheusRule.overrides.EdgeWatchdog.thresholds.x=1", "the alert has no threshold x"),
        (RULE, "prometheusRule.overrides.EdgeWatchdog.thresholds.factor=many", "thresholds.factor"),
        (RULE, "prometheusRule.overrides.EdgeWatchdog.form=1m", "form is not allowed"),
        (RULE, "prometheusRule.severities.page=x", "page is no severity"),
    ],
)
def test_values_that_cannot_be_are_refused(others: tuple[str, ...], value: str, reason: str) -> None:
    assert reason in helm("template", "edge", str(CHART), *others, "--set", value, refuses=True)


def test_every_value_is_used_and_described_by_the_schema() -> None:
    templates = "".join(path.read_text() for path in (CHART / "templates").rglob("*") if path.is_file())
    properties = document(CHART / "values.schema.json")["properties"]
    assert set(properties["config"]["properties"]) == set(Settings.model_fields)
    for path in _leaves(document(CHART / "values.yaml")):
        assert re.search(rf"\.Values\.{re.escape(path)}\b", templates), path
        described = properties
        for step in path.split("."):
            described = described.get("properties", described)[step]


@pytest.mark.real
def test_probes_are_the_jobs_of_the_shipped_prometheus() -> None:
    url = "https://dns.example.net/resolve?name=$1&type=SOA"
    more = {"dns": {"kind": "dns_zone", "module": "edge_dns", "target": url}}
    jobs = ("--set", "probes.enabled=true", "--set", "probes.blackbox=127.0.0.1:9115", "--set-json")
    objects = _objects(*ACCOUNT, *jobs, f"probes.jobs={json.dumps(more)}")
    made = {each["spec"]["jobName"]: each["spec"] for each in objects if each["kind"] == "ScrapeConfig"}
    shipped = document(DEPLOY / "prometheus" / "probes.yml")["scrape_configs"]
    assert sorted(made) == sorted(job["job_name"] for job in shipped)
    for job in shipped:
        spec = made[job["job_name"]]
        assert (spec["metricsPath"], spec["scrapeInterval"]) == (job["metrics_path"], job["scrape_interval"])
        assert spec["params"] == job["params"]
        (listed,), (list_there,) = spec["httpSDConfigs"], job["http_sd_configs"]
        kind = list_there["url"].rpartition("/")[2]
        assert listed == {"url": f"http://edge-edge-exporter.monitoring.svc:9877/sd/{kind}", "refreshInterval": "30s"}
        camel = {"source_labels": "sourceLabels", "target_label": "targetLabel"}
        rules = [{camel.get(key, key): value for key, value in rule.items()} for rule in job["relabel_configs"]]
        assert spec["relabelings"] == rules


@pytest.mark.real
def test_the_versions_are_the_changelog_s_newest_and_nothing_has_to_be_set_for_the_linter() -> None:
    assert LINTED in helm("lint", "--strict", str(CHART))
    chart = document(CHART / "Chart.yaml")
    assert (chart["version"], chart["appVersion"]) == (RELEASE, RELEASE)


@pytest.mark.real
def test_every_value_of_an_alert_can_be_changed_and_promtool_takes_the_rules(tmp_path: Path) -> None:
    own = {
        "for": "7m",
        "keep_firing_for": "3h",
        "severity": "ticket",
        "labels": {"team": "edge"},
        "annotations": {"note": "a note"},
        "thresholds": {"share": 0.02, "busy_queries_per_second": 5},
    }
    values = {
        "enabled": True,
        "labels": {"release": "stack"},
        "alertLabels": {"site": "north"},
        "severities": {"critical": "page"},
        "runbookBase": "https://wiki.example.net/edge",
        "disabled": ["EdgeWatchdog"],
        "overrides": {"EdgeDnsQueriesDropped": own},
    }
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump({"prometheusRule": values, "commonLabels": {"release": "other"}}))
    rules = [each for each in _objects(*ACCOUNT, "--values", str(file)) if each["kind"] == "PrometheusRule"]
    assert all(each["metadata"]["labels"]["release"] == "stack" for each in rules)
    shipped = {path.stem: yaml.safe_dump(document(path)) for path in RULES.glob("*.yml")}
    changes = ""
    for each in rules:
        name, spec = each["metadata"]["name"].removeprefix("edge-edge-exporter-"), yaml.safe_dump(each["spec"])
        before, after = (text.splitlines(keepends=True) for text in (shipped[name], spec))
        changes += "".join(unified_diff(before, after, name, "as changed", n=0))
        file = tmp_path / "rules.yml"
        file.write_text(spec)
        checked = run("promtool", "check", "rules", file)
        assert checked.returncode == 0, checked.stdout + checked.stderr
    assert_golden(re.sub(r"(?m)^@@ .*\n", "", changes), RENDERED / "changed-alerts.txt")
