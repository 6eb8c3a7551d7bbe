import json
from pathlib import Path

import yaml

from tests.deploy.files import DASHBOARDS, DEPLOY, Document, document

PROVISIONING = DEPLOY / "grafana" / "provisioning"
SOURCES: list[Document] = document(PROVISIONING / "datasources" / "edge-exporter.yaml")["datasources"]
(PROVIDER,) = document(PROVISIONING / "dashboards" / "edge-exporter.yaml")["providers"]
GRAFANA: Document = document(DEPLOY / "compose" / "compose.yaml")["services"]["grafana"]


def _variable(path: Path) -> Document:
    variables: list[Document] = json.loads(path.read_text())["templating"]["list"]
    (found,) = (variable for variable in variables if variable["type"] == "datasource")
    return found


def test_the_default_source_is_of_the_type_that_every_dashboard_chooses_from() -> None:
    (default,) = (source for source in SOURCES if source.get("isDefault"))
    chosen = {_variable(path)["query"] for path in DASHBOARDS.glob("*.json")}
    assert (chosen, default["uid"]) == ({default["type"]}, "edge-prometheus")


def test_no_panel_asks_a_source_that_is_not_provisioned() -> None:
    def asked(part: object) -> set[str]:
        if isinstance(part, dict):
            own = part.get("datasource")
            found = {own["uid"]} if isinstance(own, dict) and "uid" in own else set()
            return found.union(*(asked(each) for each in part.values()))
        return set().union(*(asked(each) for each in part)) if isinstance(part, list) else set()

    known = {"${datasource}", "-- Grafana --", *(source["uid"] for source in SOURCES)}
    for path in DASHBOARDS.glob("*.json"):
        assert asked(json.loads(path.read_text())) <= known, path.name


def test_the_sources_are_where_the_compose_file_has_them() -> None:
    assert {source["type"]: source["url"] for source in SOURCES} == {
        "prometheus": "http://127.0.0.1:9090",
        "alertmanager": "http://127.0.0.1:9093",
    }


def test_grafana_knows_the_scrape_interval() -> None:
    prometheus = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    intervals = {source["jsonData"]["timeInterval"] for source in SOURCES if source["type"] == "prometheus"}
    assert intervals == {prometheus["global"]["scrape_interval"]}


def test_the_dashboards_are_read_from_where_they_are_mounted() -> None:
    mounts = {target: source for source, target in (mount.split(":")[:2] for mount in GRAFANA["volumes"])}
    path = PROVIDER["options"]["path"]
    home = GRAFANA["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert (DEPLOY / "compose" / mounts[path]).resolve() == DASHBOARDS
    assert (Path(home).parent, (DASHBOARDS / Path(home).name).exists()) == (Path(path), True)
    assert (DEPLOY / "compose" / mounts["/etc/grafana/provisioning"]).resolve() == PROVISIONING
