"""The queries and commands of the runbooks, unchanged, with the labels of each alert."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from exporter.sandbox import keys
from tests.demo.running_demo import Demo
from tests.deploy.files import run
from tests.real_parts import Prometheus, find
from tests.rules.rule_files import load_case
from tests.rules.test_runbooks import PAGES, queries

# The demo's values for the labels of an alert.
LABELS = {
    "account": "demo", "zone_id": "101", "domain": "prod-shop.example", "name": "prod-shop.example",
    "database": "orders", "registry_id": "dockerhub", "image_namespace": "library", "image": "nginx",
}  # fmt: skip
TARGETS = {"EdgeTargetFailing": "dns_zone/101", "EdgeDatabaseQueryFailing": "query/orders/orders_open"}
CONFIG = "accounts: [{{name: demo, base_url: {url}, api_key: {key}, dns_zones: {{discover: false, ids: [101]}}}}]\n"
PROGRAM = f'#!/bin/sh\nexec "{sys.executable}" -m exporter "$@"\n'
# There are no names to look up.
DIG = '#!/bin/sh\nprintf "ns1.example\\n"; for word in "$@"; do [ -n "$word" ] || exit 1; done\n'


def commands(page: Path) -> list[str]:
    """Return the blocks of commands of a page."""
    return re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def environ(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return the environment of a shell on the exporter's host."""
    home = tmp_path_factory.mktemp("host")
    for name, text in (("edge-exporter", PROGRAM), ("dig", DIG)):
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    config = home / "edge-exporter.yml"
    config.write_text(CONFIG.format(url=demo.sandbox.url, key=keys.API_KEY))
    path = os.pathsep.join((str(home), os.environ["PATH"]))
    return {"PATH": path, "EDGE_EXPORTER_CONFIG": str(config)} | LABELS


@pytest.mark.real("prometheus")
def test_every_query_is_answered(prometheus: Prometheus) -> None:
    """Prometheus refuses a query that matches several series where it needs one."""
    for page in PAGES:
        for query in queries(page):
            prometheus.ask(query)
            for alert in re.findall(r'ALERTS\{alertname="(\w+)"', query):
                assert alert == page.stem


@pytest.mark.real
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.stem)
def test_a_command_runs_with_the_labels_of_its_alert(demo: Demo, environ: Mapping[str, str], page: Path) -> None:
    find("curl")
    address = demo.url.removeprefix("http://")
    own = {"instance": address, "target": TARGETS.get(page.stem, ""), "collector": "dns_statistics"}
    checks = [check for test in load_case(page.stem)["tests"] for check in test["alert_rule_test"]]
    labels = {label for check in checks for alert in check.get("exp_alerts", []) for label in alert["exp_labels"]}
    for block in commands(page):
        assert set(re.findall(r"\$(\w+)", block)) <= labels, block
        words = ("bash", "-euo", "pipefail", "-c", block.replace("127.0.0.1:9877", address))
        ended = run(*words, environ={**environ, **own})
        assert (ended.returncode, bool(ended.stdout.strip())) == (0, True), block + ended.stderr
        assert '"matched":0' not in ended.stdout
