"""`endpoint try`: on the sandbox, on a given answer, and with faults."""

import json
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pytest
import yaml

from tests.commands.platform import Platform
from tests.commands.shell import Ended, clean, invoke, process
from tests.golden import assert_golden
from tests.http_answers import answering
from tests.real_parts import find
from tests.waiting import wait_until

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
FILES = sorted((REPOSITORY / "deploy" / "endpoints").glob("*.yml"))
ANSWER = {
    "Name": "Zürich",
    "ZoneSecurityKey": "11111111",
    "Three": [1, 2, 3],
    "Four": [1, 2, 3, 4],
    "Items": [{"Id": 7, "Name": "n"}],
    "Cost": 4,
    "Chart": {"2026-02-07": 1},
}


def propose(answer: str) -> Ended:
    return invoke("endpoint", "try", "--from-answer", "-", stdin=answer)


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


def test_a_target_that_there_is_not_fails(environ: dict[str, str]) -> None:
    file = next(file for file in FILES if file.stem == "storage_zones")
    ended = invoke("endpoint", "try", str(file), "--target", "999", environ=environ)
    assert ended.code == 1
    assert "failed: the list contains no storage_zone 999" in ended.out


def test_what_is_asked_answered_read_and_exposed_is_shown_of_each_endpoint_and_every_failure() -> None:
    def answer(request: BaseHTTPRequestHandler, _sent: bytes) -> tuple[int, bytes]:
        return (200, json.dumps(ANSWER).encode()) if request.path in ("/zone", "/zones", "/zone/7") else (404, b"{}")

    with answering(answer) as url:
        environ = {"EDGE_EXPORTER_BASE_URL": url, "EDGE_EXPORTER_API_KEY": "a-key"}
        ended = invoke("endpoint", "try", HERE / "tried.yml", environ=environ)
    shown = re.sub(r"in \d+\.\d\d s", "in 0.01 s", ended.out.replace(url, "http://127.0.0.1"))
    assert_golden(shown, HERE / "tried.txt")
    assert (ended.code, ended.err) == (
        1,
        (
            f"warning: {HERE}/tried.yml:6: endpoints[0].metrics[1].name: 'edge_zone_ms' is in ms; expected the base "
            "unit seconds, with scale\n"
        ),
    )


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
    proposed = invoke("endpoint", "try", "--from-answer", HERE / "answer.json", "--name", "billing")
    assert (proposed.code, proposed.err) == (0, "")
    assert_golden(proposed.out, HERE / "proposed.yml")
    assert invoke("endpoint", "try", write(tmp_path, "made.yml", proposed.out), environ=environ).code == 0


def test_a_long_answer_is_shown_shortened_and_has_no_more_than_sixty_proposals() -> None:
    fields = {f"K{number}": 1 for number in range(61)}
    for number, more in ((38, []), (39, ["… 1 more lines"])):
        answer = {"Fits": "ü" * 147, "Long": "x" * 148} | dict(list(fields.items())[: number - 2])
        shown = [line[2:] for line in propose(json.dumps(answer)).out.splitlines() if line.startswith("# ")]
        assert shown[:3] == ["{", f'  "Fits": "{"ü" * 147}",', f'  "Long": "{"x" * 148}'[:159] + "…"]
        assert (len(shown[1]), len(shown[2]), shown[40:]) == (160, 160, more)
    assert propose(json.dumps(fields)).out.count("{name: ") == 60
    edge = invoke("endpoint", "try", "--from-answer", "-", "--name", "edge_x", stdin='{"A": 1}')
    assert "{name: edge_x_a, " in edge.out
    assert "\n      []  # the answer holds neither" in propose("{}").out


@pytest.mark.parametrize("text", ["", "<html>", "[" * 100_000, '{"a": 1'])
def test_an_answer_that_is_no_json_is_refused(text: str) -> None:
    assert propose(text) == Ended("", "- holds no JSON; expected an answer of the platform\n", 2)


def test_an_answer_that_is_absent_or_too_large_is_refused(tmp_path: Path) -> None:
    absent = tmp_path / "absent.json"
    ended = invoke("endpoint", "try", "--from-answer", absent)
    assert ended == Ended("", f"{absent}: no such file or directory\n", 2)
    assert propose("[]" + " " * (2**24 - 2)).code == 0
    assert propose("[]" + " " * (2**24 - 1)) == Ended("", "- holds more than 16 MiB\n", 2)
    large = write(tmp_path, "answer.json", "[]" + " " * 2**24)
    assert invoke("endpoint", "try", "--from-answer", large).code == 2


def test_neither_file_nor_answer_is_misuse() -> None:
    assert invoke("endpoint", "try", environ={}).code == 2
    ended = invoke("endpoint", "try", "--from-answer", "-", "--name", "Billing")
    assert (ended.code, "found 'Billing', expected small letters, digits and '_'" in ended.err) == (2, True)


def test_a_target_of_no_use_is_said_and_a_configured_one_is_used(tmp_path: Path, environ: dict[str, str]) -> None:
    text = "endpoints: [{name: b, path: /billing, metrics: [{name: edge_b_dollars, help: B., value: Balance}]}]"
    ended = invoke("endpoint", "try", write(tmp_path, "b.yml", text), "--target", "101", environ=environ)
    assert (ended.code, ended.out.splitlines()[2]) == (
        0,
        "--target does nothing here: the endpoint is polled once for each account",
    )
    tried = write(tmp_path, "tried.yml", text.replace("b, path: /billing", "s, path: '/dnszone/{id}', kind: z"))
    made = text.replace("edge_b", "edge_c").replace("b, path: /billing", "made, path: '/a/{id}', label: z, ids: [102]")
    config = write(tmp_path, "c.yml", f"endpoint_files: [tried.yml]\n{made}\n")
    ended = invoke("endpoint", "try", tried, "--config", config, environ=environ)
    shown = re.findall("^##.*|^GET .*", ended.out, re.MULTILINE), ended.err
    assert shown == (["## s", f"GET {environ['EDGE_EXPORTER_BASE_URL']}/dnszone/102"], "")
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
