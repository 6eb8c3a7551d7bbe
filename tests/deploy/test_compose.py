import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.deploy.files import (
    DASHBOARDS,
    DEPLOY,
    PORT,
    RELEASE,
    REPOSITORY,
    STATE_FOLDER,
    Document,
    document,
    known_variables,
    named_variables,
    settings_from,
)
from tests.deploy.programs import run

FOLDER = DEPLOY / "compose"
COMPOSE = FOLDER / "compose.yaml"
ACCOUNT = FOLDER / "account.yaml"
SERVICES: dict[str, Document] = document(COMPOSE)["services"]
PUBLISHED = {int(port.split(":")[-1]) for port in SERVICES["network"]["ports"]}


def _mounts(service: str) -> dict[str, str]:
    """Return the mounts of a service: target → source."""
    pairs = (mount.split(":")[:2] for mount in SERVICES[service].get("volumes", []))
    return {target: source for source, target in pairs}


def _ports_of(text: str) -> set[int]:
    return {int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", text)}


@pytest.mark.real
def test_podman_compose_reads_it_with_every_service() -> None:
    done = run("podman-compose", "--file", str(COMPOSE), "config", "--services")
    assert (done.returncode, done.stderr, sorted(done.stdout.split())) == (0, "", sorted(SERVICES))


@pytest.mark.real
def test_an_account_takes_the_sandbox_s_place(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("made-up-key")
    given = {"EDGE_EXPORTER_BASE_URL": "https://api.example.net", "EDGE_EXPORTER_API_KEY_FILE": str(key)}
    done = run("podman-compose", "--file", str(COMPOSE), "--file", str(ACCOUNT), "config", environ=given)
    assert done.returncode == 0, done.stderr
    found = tmp_path / "found.yaml"
    found.write_text(done.stdout)
    merged = document(found)
    exporter = merged["services"]["exporter"]
    (secret,) = exporter["secrets"]
    assert exporter["command"] == ["run"]
    assert exporter["environment"]["EDGE_EXPORTER_API_KEY_FILE"] == f"/run/secrets/{secret}"
    assert merged["secrets"][secret]["file"] == str(key)
    assert [account.base_url for account in settings_from(exporter["environment"], tmp_path).accounts] == [
        "https://api.example.net"
    ]


@pytest.mark.real
def test_an_account_without_its_address_is_refused() -> None:
    files = ("--file", str(COMPOSE), "--file", str(ACCOUNT))
    done = run("podman-compose", *files, "config", environ={"EDGE_EXPORTER_BASE_URL": ""})
    assert (done.returncode, "EDGE_EXPORTER_BASE_URL" in done.stderr) == (1, True)


def test_every_variable_of_the_exporter_exists() -> None:
    for path in (COMPOSE, ACCOUNT):
        assert named_variables(path.read_text()) - known_variables() == set(), path.name


def test_every_mounted_file_exists() -> None:
    volumes = document(COMPOSE)["volumes"]
    for service in SERVICES:
        for source in _mounts(service).values():
            assert source in volumes or (FOLDER / source).resolve().exists(), source


def test_rules_configuration_and_dashboards_are_mounted_from_their_one_place() -> None:
    sources = {(FOLDER / source).resolve() for service in SERVICES for source in _mounts(service).values()}
    assert {DEPLOY / "prometheus", DEPLOY / "alertmanager", DEPLOY / "grafana" / "provisioning", DASHBOARDS} <= sources


def test_the_shipped_configuration_reaches_every_service_on_the_shared_network() -> None:
    assert all(SERVICES[name].get("network_mode") == "service:network" for name in SERVICES if name != "network")
    asked = _ports_of((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    notified = _ports_of((DEPLOY / "alertmanager" / "alertmanager.yml").read_text())
    receiver = re.findall(r"^PORT = (\d+)$", (FOLDER / "notifications.py").read_text(), re.MULTILINE)
    assert asked == {PORT, 9093}
    assert notified == {int(port) for port in receiver}
    assert asked <= PUBLISHED


def test_ports_are_published_to_this_machine_alone() -> None:
    assert {PORT, 9090, 9093, 3000} == PUBLISHED
    assert all(port.startswith("127.0.0.1:") for port in SERVICES["network"]["ports"])
    assert not any("ports" in service for name, service in SERVICES.items() if name != "network")


def test_what_runs_can_write_nothing_but_its_volumes_and_gains_no_privilege() -> None:
    for service in SERVICES.values():
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        assert service["security_opt"] == ["no-new-privileges:true"]
    assert STATE_FOLDER in _mounts("exporter")


def test_the_image_is_built_from_the_repository_under_the_package_s_version() -> None:
    for name in ("network", "exporter", "notifications"):
        assert SERVICES[name]["image"] == f"${{EXPORTER_IMAGE:-localhost/edge-exporter:{RELEASE}}}"
        assert (FOLDER / SERVICES[name]["build"]["context"]).resolve() == REPOSITORY


def test_prometheus_keeps_what_the_surge_alerts_look_back_on() -> None:
    (kept,) = (
        flag.split("=")[1] for flag in SERVICES["prometheus"]["command"] if flag.startswith("--storage.tsdb.retention")
    )
    assert int(kept.removesuffix("d")) >= 30


def test_the_notifications_write_a_line_for_each_alert() -> None:
    body = {
        "receiver": "critical",
        "alerts": [
            {"status": "firing", "labels": {"alertname": "EdgeAccountDown"}, "annotations": {"summary": "Down."}},
            {"status": "resolved", "labels": {"alertname": "EdgeLedgerDown"}, "annotations": {"summary": "Up."}},
        ],
    }
    command = [sys.executable, str(FOLDER / "notifications.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = f"http://127.0.0.1:{process.stdout.readline().split()[-1]}/critical"
            answers = [
                httpx.post(url, content=body, trust_env=False).status_code
                for body in (json.dumps(body), "no JSON", "[1]", json.dumps({"receiver": "x", "alerts": [1]}))
            ]
        finally:
            process.terminate()
        lines = process.stdout.read().splitlines()
    assert answers == [200, 400, 400, 400]
    assert lines == ["firing critical: EdgeAccountDown: Down.", "resolved critical: EdgeLedgerDown: Up."]
