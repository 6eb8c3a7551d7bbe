"""The history of configured endpoints, from a platform without the documented interface."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

from tests.backfill.backfill_setup import Raw, grown, parsed
from tests.commands.shell import invoke
from tests.endpoints.platform import good
from tests.http_answers import answering

TODAY = datetime.now(UTC).date()


def ago(days: int) -> date:
    """Return a day before today."""
    return TODAY - timedelta(days=days)


def count(target: str, day: date) -> int:
    """Return the platform's count of a target on a day."""
    return day.toordinal() % 97 + int(target)


def chart(target: str, first: date, last: date) -> dict[str, int]:
    """Return the platform's chart of these days."""
    days = (first + timedelta(days=ahead) for ahead in range((last - first).days + 1))
    return {f"{day}T00:00:00Z": count(target, day) for day in days if day <= TODAY}


@dataclass(frozen=True)
class Ended:
    """The result of the command."""

    raw: Raw
    said: str
    code: int

    def total(self, family: str, **labels: str) -> float:
        """Return the growth of the only series with these labels."""
        (samples,) = (
            samples for (name, known), samples in self.raw.items() if name == family and labels.items() <= set(known)
        )
        return grown(samples)


def answer(path: str) -> tuple[int, bytes]:
    """Serve a list of two things, and their charts of ten days."""
    if path == "/things":
        return good({"Items": [{"Id": 7, "Name": "seven"}, {"Id": 8, "Name": "eight"}]})
    days = chart(path.split("/")[2], ago(9), TODAY)
    return good({"Chart": days, "Errors": dict.fromkeys(days, 1), "Month": 5})


ENDPOINT = """
  - name: things
    path: /things/{id}
    each: {list: /things, items: Items, id: Id, name: Name}
    label: thing
    metrics:
      - {name: edge_things_total, help: Things., days: Chart}
      - {name: edge_errors_total, help: Errors., days: Errors}
      - {name: edge_month_total, help: A month to date., month: Month}
"""


def backfill(folder: Path, *arguments: str) -> Ended:
    """Run the command for endpoints alone."""
    config, output = folder / "edge.yml", folder / "history.om"

    def respond(request: BaseHTTPRequestHandler, _sent: bytes) -> tuple[int, bytes]:
        return answer(urlsplit(request.path).path)

    # On threads: the command has the main one, which signals go to.
    with answering(respond) as url:
        config.write_text(f"""
accounts:
  - name: main
    base_url: {url}
    api_key: a-key
    dns_zones: {{discover: false}}
    scripts: {{discover: false}}
    shield_zones: {{discover: false, rate_limits: false}}
state: {{path: {folder / "state.db"}}}
endpoints:{ENDPOINT}""")
        words = ["backfill", "--config", str(config), "--output", str(output), "--step", "3h", *arguments]
        ended = invoke(*words)
    return Ended(parsed(output) if output.exists() else {}, ended.out + ended.err, ended.code)


def test_the_days_in_an_answer_are_written_without_the_oldest_which_may_be_incomplete(tmp_path: Path) -> None:
    ended = backfill(tmp_path)
    assert ended.code == 0, ended.said
    assert {name for name, _ in ended.raw} == {"edge_things_total", "edge_errors_total"}
    for target, name in (("7", "seven"), ("8", "eight")):
        expected = sum(count(target, ago(days)) for days in range(1, 9))
        assert ended.total("edge_things_total", account="main", thing_id=target, thing=name) == expected
        assert ended.total("edge_errors_total", account="main", thing_id=target, thing=name) == 8


def test_a_label_of_an_endpoint_s_series_is_not_given_twice(tmp_path: Path) -> None:
    ended = backfill(tmp_path, "--label", "thing=x")
    assert (ended.code, "--label: found 'thing=x', expected NAME=VALUE" in ended.said) == (2, True), ended.said
