"""What the page of questions shows can be used as it stands."""

import json
import re
from pathlib import Path

import yaml

from exporter.settings.model import Settings
from tests.real_parts import REPOSITORY
from tests.test_numbers import queries

TEXT = (REPOSITORY / "docs" / "how-do-i.md").read_text(encoding="utf-8")
CREDENTIALS = "/run/credentials/edge-exporter.service"
SHOWN = [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)]


def test_configurations_are_valid_and_links_lead_to_a_question(tmp_path: Path) -> None:
    for name, text in (("api-key", "k" * 20), ("state-url", "postgresql://edge:password@db.example.net/edge")):
        (tmp_path / name).write_text(text)
    shown = [json.dumps(each).replace(CREDENTIALS, str(tmp_path)) for each in SHOWN if "accounts" in each]
    assert [len(Settings.model_validate(json.loads(each)).accounts) for each in shown] == [1, 1, 1, 1, 1]
    titles = re.findall("(?m)^## (.+)$", TEXT)
    anchors = {re.sub(r"[^a-z0-9 ]", "", title.lower()).replace(" ", "-") for title in titles}
    assert set(re.findall(r"\(#([^)]+)\)", TEXT)) == anchors
    assert queries()["What did the platform count yesterday, exactly?"] in TEXT
