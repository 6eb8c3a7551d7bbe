"""`endpoint try`: on the sandbox, on a given answer, and with faults."""

import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml

from tests.commands.platform import Platform
from tests.commands.shell import Ended, clean, invoke, process
from tests.real_parts import find
from tests.waiting import wait_until

REPOSITORY = Path(__file__).parents[3]
FILES = sorted((REPOSITORY / "deploy" / "endpoints").glob("*.yml"))
ANSWER = {
    "TotalBandwidthUsed": 12345,
    "CacheHitRate": 93.5,
    "MonthlyCharges": 4.2,
    "MonthlyChargesStorage": 1.3,
    "BandwidthUsedChart": {"2026-02-07T00:00:00Z": 1, "2026-02-08T00:00:00Z": 2},
    "QueriesByType": {"1": 2, "28": 3},
    "Id": 5,
    "ApiKey": "hunter2",
    "LastModified": "2026-02-08T00:00:00",
    "Origin": {"ResponseMs": 4},
    "Items": [{"Id": 1, "Name": "x"}],
    "Enabled": True,
}


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_ready_file_reads_something_for_each_of_its_metrics(file: Path, environ: dict[str, str]) -> None:
    target = {"dns_monitoring": "101", "script_statistics": "7"}.get(file.stem)
    ended = invoke("endpoint", "try", str(file), *(["--target", target] if target else []), environ=environ)
    assert (ended.code, ended.err) == (0, "")
    declared = yaml.safe_load(file.read_text())["endpoints"]
    names = [metric["name"] for endpoint in declared for metric in endpoint["metrics"]]
    assert [name for name in names if f"\n    {name}{{account=" not in ended.out] == []
    assert "not documented in the interface; tested on recorded shapes only" in file.read_text().lower()
    assert "nothing: no such field" not in ended.out


def test_an_answer_shows_no_secret(environ: dict[str, str]) -> None:
    file = next(file for file in FILES if file.stem == "pull_zones")
    ended = invoke("endpoint", "try", str(file), "--target", "502", environ=environ)
    assert '"ZoneSecurityKey": "***"' in ended.out
    assert "11111111" not in ended.out


def test_a_target_that_there_is_not_fails(environ: dict[str, str]) -> None:
    file = next(file for file in FILES if file.stem == "storage_zones")
    ended = invoke("endpoint", "try", str(file), "--target", "999", environ=environ)
    assert ended.code == 1
    assert "failed: the list contains no storage_zone 999" in ended.out


def test_a_wrong_type_is_shown_with_what_each_expression_read(tmp_path: Path, environ: dict[str, str]) -> None:
    text = (
        "endpoints:\n  - name: charges\n    path: /billing\n    metrics:\n"
        "      - {name: edge_balance_dollars, help: A., value: Balance}\n"
        "      - {name: edge_missing, help: B., value: Missing}\n"
        "      - {name: edge_everything, help: C., value: '@'}\n"
    )
    ended = invoke("endpoint", "try", write(tmp_path, "charges.yml", text), environ=environ)
    assert ended.code == 1
    assert "    edge_balance_dollars: value Balance = 120.5\n" in ended.out
    assert "    edge_missing: value Missing = nothing: no such field, or null\n" in ended.out
    assert "failed: edge_everything cannot be read from the answer: an object, expected a number\n" in ended.out


def test_a_wrong_file_is_refused_by_its_line(tmp_path: Path, environ: dict[str, str]) -> None:
    file = write(tmp_path, "wrong.yml", "endpoints:\n  - name: charges\n    path: billing\n    metrics: []\n")
    ended = invoke("endpoint", "try", file, environ=environ)
    assert ended == Ended(
        "",
        f"{file}:3: endpoints[0].path: does not start with '/'; expected a path such as /pullzone/{{id}}\n"
        f"{file}:4: endpoints[0].metrics: is empty; expected metrics\n",
        2,
    )


def test_an_answer_alone_becomes_a_file_that_can_be_tried(tmp_path: Path, environ: dict[str, str]) -> None:
    answer = write(tmp_path, "answer.json", json.dumps(ANSWER))
    proposed = invoke("endpoint", "try", "--from-answer", answer, "--name", "billing", environ={})
    assert (proposed.code, proposed.err) == (0, "")
    assert "hunter2" not in proposed.out
    metrics = {one["name"]: one for one in yaml.safe_load(proposed.out)["endpoints"][0]["metrics"]}
    sources = {name: next(key for key in ("value", "days", "month") if key in one) for name, one in metrics.items()}
    assert sources == {
        "edge_billing_window_bandwidth_used_bytes": "value",
        "edge_billing_bandwidth_used_bytes_total": "days",
        "edge_billing_cache_hit_rate_ratio": "value",
        "edge_billing_charges_dollars_total": "month",
        "edge_billing_charges_storage_dollars_total": "month",
        "edge_billing_queries_by_type": "value",
        "edge_billing_last_modified_timestamp_seconds": "value",
        "edge_billing_origin_response_seconds": "value",
        "edge_billing_enabled": "value",
    }
    assert metrics["edge_billing_origin_response_seconds"]["scale"] == 0.001
    assert all("# guessed" in line for line in proposed.out.splitlines() if "{name: " in line)
    assert invoke("endpoint", "try", write(tmp_path, "made.yml", proposed.out), environ=environ).code == 0


def test_lists_of_objects_become_charts_and_series_by_name(tmp_path: Path) -> None:
    answer = {
        "Jobs": [{"Date": "2026-11-01", "Done": 100, "JobId": 5}, {"Date": "2026-11-02", "Done": 101, "JobId": 6}],
        "Workers": [{"Name": "w1", "Busy": True, "ApiKey": "hunter2"}],
        "Rows": [{"A": 1}],
        "Credit": "4.20",
    }
    proposed = invoke("endpoint", "try", "--from-answer", write(tmp_path, "a.json", json.dumps(answer)), "--name", "q")
    metrics = yaml.safe_load(proposed.out)["endpoints"][0]["metrics"]
    assert [{key: one[key] for key in one if key != "help"} for one in metrics] == [
        {"name": "edge_q_jobs_done_total", "days": "Jobs[*].[Date, Done]"},
        {"name": "edge_q_workers_busy", "value": "Workers[*].[Name, Busy]", "label": "name"},
        {"name": "edge_q_credit", "value": "to_number(Credit)"},
    ]


@pytest.mark.parametrize("text", ["", "<html>", "[" * 100_000, '{"a": 1'])
def test_an_answer_that_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    answer = write(tmp_path, "answer.json", text)
    ended = invoke("endpoint", "try", "--from-answer", answer, environ={})
    assert ended == Ended("", f"{answer} holds no JSON; expected an answer of the platform\n", 2)


def test_an_answer_that_is_too_large_is_refused(tmp_path: Path) -> None:
    answer = write(tmp_path, "answer.json", "[]" + " " * 2**24)
    ended = invoke("endpoint", "try", "--from-answer", answer, environ={})
    assert ended == Ended("", f"{answer} holds more than 16 MiB\n", 2)


def test_neither_file_nor_answer_is_misuse() -> None:
    assert invoke("endpoint", "try", environ={}).code == 2


def test_a_target_that_is_of_no_use_is_said(tmp_path: Path, environ: dict[str, str]) -> None:
    text = "endpoints: [{name: b, path: /billing, metrics: [{name: edge_b_dollars, help: B., value: Balance}]}]"
    ended = invoke("endpoint", "try", write(tmp_path, "b.yml", text), "--target", "101", environ=environ)
    assert (ended.code, ended.out.splitlines()[2]) == (
        0,
        "--target does nothing here: the endpoint is polled once for each account",
    )
    ended = invoke("endpoint", "try", "--from-answer", "-", "--target", "101", stdin='{"Balance": 1}')
    assert (ended.code, ended.err) == (0, "--target does nothing with --from-answer, which contacts nothing\n")


def test_the_examples_of_the_documentation_run_as_they_stand(platform: Platform, tmp_path: Path) -> None:
    find("curl")
    text = (REPOSITORY / "docs" / "endpoints.md").read_text().partition("\n## Keys")[0]
    export, *blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    export, _, prepare = export.replace("http://127.0.0.1:9878", platform.url).partition("\n")

    def run(lines: str) -> str:
        environ = clean({"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"})
        words = ["bash", "-ec", f"{export}\n{lines}"]
        ended = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    run(prepare)
    files = re.findall(r"^```yaml\n# (\S+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert text.count("```yaml") == len(files)
    words = ("run", "--config", "edge-exporter.yml", "--web.listen-address=127.0.0.1:0", "--log.format=json")
    environ = dict(re.findall(r"(EDGE_\w+)=(\S+)", export))
    with process(*words, environ=environ, cwd=tmp_path) as exporter:
        address = exporter.read_log("serving")["url"].removesuffix("/metrics")
        assert run(blocks[0]) == ""
        for name, content in files:
            (tmp_path / name).write_text(content)
        tried = "".join(run(block.replace("http://127.0.0.1:9877", address)) for block in blocks[1:])
        names = [
            metric["name"]
            for _, content in files
            for endpoint in yaml.safe_load(content)["endpoints"]
            for metric in endpoint["metrics"]
        ]
        assert [name for name in names if f"\n    {name}{{account=" not in tried] == []
        assert "nothing: no such field" not in tried
        assert "\nreloaded\n" in tried
        wait_until(lambda: "edge_billing_balance_dollars{" in httpx.get(f"{address}/metrics").text)
