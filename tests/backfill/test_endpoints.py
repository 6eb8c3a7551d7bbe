"""The history of configured endpoints, from a platform without the documented interface."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from textwrap import indent
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.backfill.backfill_setup import Raw, grown, parsed
from tests.commands.shell import invoke
from tests.endpoints.platform import Platform, Query, good
from tests.http_answers import answering

TODAY = datetime.now(UTC).date()
# The most days in one answer of the platform.
MOST_DAYS = 31


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


def answer(path: str, query: Query, *, is_end_excluded: bool = False) -> tuple[int, bytes]:
    """Serve a list of two things, and their charts."""
    if path == "/things":
        return good({"Items": [{"Id": 7, "Name": "seven"}, {"Id": 8, "Name": "eight"}]})
    target = path.split("/")[2]
    if "from" not in query:
        return good({"Chart": chart(target, ago(9), TODAY)})
    first, last = (date.fromisoformat(query[key][0]) for key in ("from", "to"))
    if (last - first).days >= MOST_DAYS:
        return 400, b"{}"
    last -= timedelta(days=is_end_excluded)
    return good({"Chart": chart(target, first, last), "Errors": dict.fromkeys(chart(target, first, last), 1)})


THINGS = "each: {list: /things, items: Items, id: Id, name: Name}\n  label: thing"
SPAN = "/things/{id}?from={days_ago:30}&to={today}"


def endpoint(path: str, source: str = "days: Chart", *, name: str = "things", targets: str = THINGS) -> str:
    """Return an endpoint with one counter."""
    return f"""
- name: {name}
  path: "{path}"
  {targets}
  metrics:
    - {{name: edge_{name}_total, help: Things., {source}}}
"""


@contextmanager
def serving(*, is_end_excluded: bool = False) -> Iterator[Platform]:
    """Serve things on threads: the command has the main one, which signals go to."""
    served = Platform(lambda path, query: answer(path, query, is_end_excluded=is_end_excluded))

    def respond(request: BaseHTTPRequestHandler, _sent: bytes) -> tuple[int, bytes]:
        served.asked[request.path] += 1
        parts = urlsplit(request.path)
        return served.answer(parts.path, parse_qs(parts.query))

    with answering(respond) as served.url:
        yield served


def backfill(served: Platform, folder: Path, endpoints: str, *arguments: str) -> Ended:
    """Run the command for endpoints alone."""
    config, output = folder / "edge.yml", folder / "history.om"
    config.write_text(f"""
accounts:
  - name: main
    base_url: {served.url}
    api_key: a-key
    dns_zones: {{discover: false}}
    scripts: {{discover: false}}
    shield_zones: {{discover: false, rate_limits: false}}
state: {{path: {folder / "state.db"}}}
endpoints:
{indent(endpoints, "  ")}""")
    words = ["backfill", "--config", str(config), "--output", str(output), "--step", "3h", *arguments]
    ended = invoke(*words)
    return Ended(parsed(output) if output.exists() else {}, ended.out + ended.err, ended.code)


def windows(served: Platform) -> Iterator[tuple[date, date]]:
    """Return the requested spans."""
    for target in served.asked:
        query = parse_qs(urlsplit(target).query)
        if "from" in query:
            yield date.fromisoformat(query["from"][0]), date.fromisoformat(query["to"][0])


@pytest.mark.parametrize(
    ("path", "is_end_excluded", "whole"),
    [
        # The history contains the day of the first poll up to that poll.
        (SPAN, False, 71),
        (SPAN, True, 70),
        (SPAN.replace("{today}", "{days_ago:1}"), True, 70),
    ],
)
def test_days_far_back_are_asked_for_by_the_dates_of_the_path(
    tmp_path: Path, path: str, whole: int, *, is_end_excluded: bool
) -> None:
    with serving(is_end_excluded=is_end_excluded) as served:
        ended = backfill(served, tmp_path, endpoint(path), "--from", str(ago(70)))
        asked = list(windows(served))
    assert (ended.code, "things: " in ended.said) == (0, False), ended.said
    for target, name in (("7", "seven"), ("8", "eight")):
        expected = sum(count(target, ago(70 - ahead)) for ahead in range(whole))
        assert ended.total("edge_things_total", account="main", thing_id=target, thing=name) == expected
    assert min(first for first, _ in asked) <= ago(70)
    assert max((last - first).days for first, last in asked) < MOST_DAYS


def test_endpoints_of_one_path_have_each_their_own_days(tmp_path: Path) -> None:
    errors = endpoint(SPAN, "days: Errors", name="errors", targets="kind: thing")
    with serving() as served:
        ended = backfill(served, tmp_path, endpoint(SPAN) + errors, "--from", str(ago(40)))
    assert ended.code == 0, ended.said
    assert ended.total("edge_errors_total", thing_id="7") == 41
    assert ended.total("edge_things_total", thing_id="7") == sum(count("7", ago(days)) for days in range(41))


def test_a_metric_that_is_added_has_its_history_and_one_that_is_removed_has_none(tmp_path: Path) -> None:
    alone = endpoint(SPAN)
    added = alone.rstrip() + "\n    - {name: edge_errors_total, help: Errors., days: Errors}\n"
    with serving() as served:
        for endpoints in (alone, added, alone):
            ended = backfill(served, tmp_path, endpoints, "--from", str(ago(40)))
            has_errors = "edge_errors_total" in {name for name, _ in ended.raw}
            assert (ended.code, has_errors) == (0, endpoints == added), ended.said
            (tmp_path / "history.om").unlink()


def test_a_path_without_dates_gives_the_days_that_it_shows_by_itself(tmp_path: Path) -> None:
    with serving() as served:
        ended = backfill(served, tmp_path, endpoint("/things/{id}"), "--from", str(ago(40)))
    assert ended.code == 0, ended.said
    # The oldest of ten days may be incomplete.
    assert ended.total("edge_things_total", thing_id="7") == sum(count("7", ago(days)) for days in range(9))
    assert (
        "things: of edge_things_total, the history has only the days in the answer, because the path has no dates such "
        "as {days_ago:30}" in ended.said
    )


@pytest.mark.parametrize(
    ("path", "source", "says"),
    [
        ("/things/{id}?day={today}", "days", "the path names one day, and no span such as {days_ago:30} to {today}"),
        ("/things/{id}", "month", "a month-to-date value has no past days"),
    ],
)
def test_what_has_no_history_is_named_with_the_reason(tmp_path: Path, path: str, source: str, says: str) -> None:
    with serving() as served:
        ended = backfill(served, tmp_path, endpoint(path, f"{source}: Chart"))
    assert f"things: no history of edge_things_total: {says}\n" in ended.said
    assert ended.said.endswith("\nnothing is selected: no target with a history is configured, and none discovered\n")
    assert (ended.code, list(tmp_path.glob("history.om*"))) == (2, [])


def test_a_label_of_an_endpoint_s_series_is_not_given_twice(tmp_path: Path) -> None:
    with serving() as served:
        ended = backfill(served, tmp_path, endpoint(SPAN), "--label", "thing=x")
    assert (ended.said, ended.code) == ("--label: 'thing' is already a label of an endpoint's series\n", 2)
