import re
from pathlib import Path

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
    documents,
    known_variables,
    named_variables,
    run,
    settings_from,
)

FOLDER = DEPLOY / "compose"
COMPOSE = FOLDER / "compose.yaml"
ACCOUNT = FOLDER / "account.yaml"
SERVICES: dict[str, Document] = document(COMPOSE)["services"]
PROVISIONING = DEPLOY / "grafana" / "provisioning"
SOURCES: list[Document] = document(PROVISIONING / "datasources" / "edge-exporter.yaml")["datasources"]
(PROVIDER,) = document(PROVISIONING / "dashboards" / "edge-exporter.yaml")["providers"]
PUBLISHED = {int(port.split(":")[-1]) for port in SERVICES["network"]["ports"]}


def _mounts(service: str) -> dict[str, str]:
    """Return the mounts of a service: target → source."""
    pairs = (mount.split(":")[:2] for mount in SERVICES[service].get("volumes", []))
    return {target: source for source, target in pairs}


@pytest.mark.real
def test_an_account_takes_the_sandbox_s_place_if_its_address_is_given(tmp_path: Path) -> None:
    key = "/run/keys/edge"
    given = {"EDGE_EXPORTER_BASE_URL": "https://api.example.net", "EDGE_EXPORTER_API_KEY_FILE": key}
    call = ("podman-compose", "--file", str(COMPOSE), "--file", str(ACCOUNT), "config")
    refused = run(*call, environ={**given, "EDGE_EXPORTER_BASE_URL": ""})
    assert (refused.returncode, "EDGE_EXPORTER_BASE_URL" in refused.stderr) == (1, True)
    done = run(*call, environ=given)
    assert done.returncode == 0, done.stderr
    (merged,) = documents(done.stdout)
    exporter = merged["services"]["exporter"]
    (secret,) = exporter["secrets"]
    assert exporter["command"] == ["run"]
    assert exporter["environment"]["EDGE_EXPORTER_API_KEY_FILE"] == f"/run/secrets/{secret}"
    assert merged["secrets"][secret]["file"] == key
    (account,) = settings_from(exporter["environment"], tmp_path).accounts
    assert account.base_url == given["EDGE_EXPORTER_BASE_URL"]
    assert merged["services"].keys() == SERVICES.keys()


def test_every_variable_of_the_exporter_exists() -> None:
    for path in (COMPOSE, ACCOUNT):
        assert named_variables(path.read_text()) - known_variables() == set(), path.name


def test_what_is_mounted_exists_and_rules_configuration_and_dashboards_come_from_their_one_place() -> None:
    volumes = document(COMPOSE)["volumes"]
    named = {source for service in SERVICES for source in _mounts(service).values() if source not in volumes}
    places = {(FOLDER / source).resolve() for source in named}
    assert [place for place in places if not place.exists()] == []
    assert {DEPLOY / "prometheus", DEPLOY / "alertmanager", PROVISIONING, DASHBOARDS} <= places
    # Grafana reads the dashboards where they are mounted, and its home is one of them.
    path, environment = PROVIDER["options"]["path"], SERVICES["grafana"]["environment"]
    home = Path(environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert (FOLDER / _mounts("grafana")[path]).resolve() == DASHBOARDS
    assert (home.parent, (DASHBOARDS / home.name).exists()) == (Path(path), True)


def test_the_shipped_configuration_reaches_every_service_on_the_shared_network() -> None:
    assert all(SERVICES[name].get("network_mode") == "service:network" for name in SERVICES if name != "network")
    asked = re.findall(r"127\.0\.0\.1:(\d+)", (DEPLOY / "prometheus" / "prometheus.yml").read_text())
    assert {int(port) for port in asked} == {PORT, 9093}


def test_services_gain_no_privilege_write_their_volumes_alone_and_publish_ports_to_this_machine() -> None:
    assert {PORT, 9090, 9093, 3000} == PUBLISHED
    assert all(port.startswith("127.0.0.1:") for port in SERVICES["network"]["ports"])
    for name, service in SERVICES.items():
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert name == "network" or "ports" not in service
    assert STATE_FOLDER in _mounts("exporter")


def test_the_image_is_built_from_the_repository_under_a_name_that_no_registry_has() -> None:
    for name in ("network", "exporter"):
        assert SERVICES[name]["image"] == f"${{EXPORTER_IMAGE:-localhost/edge-exporter:{RELEASE}}}"
        assert (FOLDER / SERVICES[name]["build"]["context"]).resolve() == REPOSITORY


def test_prometheus_keeps_what_the_surge_alerts_look_back_on() -> None:
    (days,) = re.findall(r"--storage\.tsdb\.retention\.time=(\d+)d", " ".join(SERVICES["prometheus"]["command"]))
    assert int(days) >= 30


def test_the_sources_are_where_the_compose_file_has_them_and_know_the_scrape_interval() -> None:
    assert {source["type"]: source["url"] for source in SOURCES} == {
        "prometheus": "http://127.0.0.1:9090",
        "alertmanager": "http://127.0.0.1:9093",
    }
    interval = document(DEPLOY / "prometheus" / "prometheus.yml")["global"]["scrape_interval"]
    assert {each["jsonData"]["timeInterval"] for each in SOURCES if each["type"] == "prometheus"} == {interval}
