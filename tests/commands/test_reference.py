"""The metric reference, and the committed copies of all references."""

import json
import sys

from exporter.collectors.catalogue import CATALOGUE
from tests.commands.shell import invoke
from tests.deploy.files import run


def test_the_committed_references_are_what_the_code_generates() -> None:
    """They hold every help text, every setting, and every metric with how often and by what it is polled."""
    ended = run(sys.executable, "-m", "docs.generate", "--check")
    assert (ended.stdout + ended.stderr, ended.returncode) == ("", 0)


def test_the_reference_is_to_be_had_as_json() -> None:
    text = invoke("metrics", "--format", "json").out
    assert text.endswith("\n]\n")
    sections = {section["section"]: section for section in json.loads(text)}
    assert list(sections) == [*(collector.name for collector in CATALOGUE), "health"]
    scripts = sections["scripts"]
    assert scripts["interval"] == {"key": "collectors.scripts.interval", "default_seconds": 900.0}
    assert sections["container_tags"]["requests"] == ["POST /mc/registries/tags"]
    labels = ["account", "script_id", "script"]
    first = ["edge_script_monthly_cost_dollars", "gauge", "dollars", labels, "stable"]
    assert list(scripts["metrics"][0].values())[:5] == first
    assert list(scripts["metrics"][0]) == ["name", "type", "unit", "labels", "stability", "help"]
    assert sections["health"].keys() == {"section", "metrics"}
