"""Odd and hostile answers: each one fails only its own target, with a clear message, or gives what can be read.

`expositions/answers.txt` has the result of each case.
"""

import json
from typing import Any

import pytest

from exporter.collectors.collector import Collector
from exporter.targets.target import Target
from tests.collectors.polls import exposed, poll, told
from tests.endpoints.configured import collector
from tests.endpoints.test_expositions import EXPOSITIONS
from tests.golden import assert_golden

ACCOUNT = Target("main", "account", "main", "main")
ALL = """
endpoints:
  - name: things
    path: /things
    metrics:
      - {name: edge_things, help: A., value: Count}
      - {name: edge_thing_classes, help: B., value: Classes, label: class}
      - {name: edge_thing_served_total, help: C., value: null, days: Chart}
      - {name: edge_thing_charges_total, help: D., month: Month}
      - {name: edge_thing_info, help: E., info: {tier: Tier, note: Note}}
      - {name: edge_thing_modified_timestamp_seconds, help: F., value: Modified}
      - {name: edge_thing_sum, help: G., value: sum(values(Chart))}
"""
DEEP: Any = 1
for _ in range(150):
    DEEP = {"a": DEEP}

MOST_SAMPLES = 5
LONG = {str(one): 1 for one in range(MOST_SAMPLES + 1)}
NO_PLAN = {"success": False, "message": "no such plan", "errorKey": "plan"}
DATES = {
    "that is none": "yesterday", "of seven digits": "1970-01-01T00:00:01.5000000Z",
    "without a zone": "1970-01-01T00:00:02", "that means never": "0001-01-01T00:00:00",
    "that does not exist": "2026-02-30T00:00:00", "that is too early in UTC": "0001-01-01T00:00:00+01:00",
}  # fmt: skip
CHARTS: dict[str, object] = {
    "of texts": {"2026-02-08": "5"}, "of booleans": {"2026-02-08": True}, "of charts": {"2026-02-08": {"a": 1}},
    "that is a list of numbers": [1, 2, 3], "of weeks": {f"2026-01-{day:02}": 1 for day in (1, 8, 15, 22)},
    "of too many days": LONG, "that is null": None, "that is a number": 4, "with null buckets": {"2026-02-08": None},
    "of days that are no dates": {"": 3}, "of days written day first": {"07-02-2026": 3, "08-02-2026": 4},
}  # fmt: skip
CLASSES: dict[str, object] = {
    "that are texts": {"a": "1"}, "that are a number": 4, "that are no pairs": [["a", 1], ["b"]],
    "of which one is there twice": [["a", 1], ["a", 2]], "of which one is an object": [[{"a": 1}, 1]],
    "that are too many": LONG, "of which one is null": {"a": None, "b": 2},
    "in pairs, as many as allowed": [["a", 1], [None, 2], [3, 4], [5.0, 6], [7.5, 8], ["b", 9]],
}  # fmt: skip
ANSWERS: dict[str, object] = {
    **{f"a count, {count!r:.30}": {"Count": count} for count in ("17", [1], {"a": 1}, 10**400, True, 28.0)},
    "a number without end": '{"Count": 1e999}',
    "no number": '{"Count": NaN}',
    **{f"classes {words}": {"Classes": classes} for words, classes in CLASSES.items()},
    **{f"a chart {words}": {"Chart": chart} for words, chart in CHARTS.items()},
    **{f"charges of {charges}": {"Month": charges} for charges in (-3, False)},
    "an info that is an object": {"Tier": {"a": 1}},
    "an info of an odd text": {"Tier": "\ud800\0x"},
    "an info of one part": {"Tier": 3, "Note": None},
    **{f"a date {words}": {"Modified": text} for words, text in DATES.items()},
    "nulls": {"Count": None, "Classes": None, "Month": None, "Tier": None, "Modified": None},
    "HTML": "<html>",
    "half a body": '{"Count": 1',
    "nothing": "",
    "JSON that is nested without end": "[" * 5000,
    "an envelope of a failure": {"data": None, "error": NO_PLAN},
    "a failure beside data": {"Count": 1, "data": {}, "error": NO_PLAN},
    "a failure of its own shape": {"error": {"message": {"a": 1}}},
    "null": None,
    "a number": 7,
    "a list": [1, 2],
    "an empty object": {},
    "a very deep object": DEEP,
}
# A counter begins when a field of its object is there.
OBJECTS: tuple[object, ...] = ({"A": {}}, {"A": None, "B": None}, {"C": 1})
# Buckets of one day are added.
PAIRS: tuple[list[object], ...] = (
    [["2026-02-07", 3], ["07-02-2026", 4], ["08-02-2026", None], ["2026-02-08", 2], ["2026-02-08", None]],
    [["2026-02-07", 3], ["2026-02-08"]],
    [["2026-02-08", None], ["2026-02-08", -3], ["2026-02-08", 3], ["2026-02-08", 4]],
)
# Equal label values, after the NUL is replaced: the first is counted.
EQUAL = {"Classes": {"a\0": {"2026-02-08": 3}, "a\ufffd": {"2026-02-08": 40}}}
# Ids that cannot be part of a path are skipped; a value that is no id makes the list incomplete.
IDS: tuple[object, ...] = (2, "b", "x" * 200, "x" * 201, "0", ".", "..", " b", "a\nb", "", True, 1.5, 28.0, None, [2])
# Pages of a list that says nothing of further pages; the last one comes again and again.
PAGES = tuple(
    tuple({"Items": [{"Id": one} for one in page]} for page in pages)
    for pages in ("1", "0123", ("12", ""), ("12", "23", ""), "1234", ("0", "1", ""), ("",))
)
LACKING = {"error": {"errorKey": "invalid_plan_type"}}
ANNOUNCED = ({"Items": [{"Id": 1}], "More": True}, {"Items": [], "More": True})
# Keys of a list whose expression fails.
FAILING = (
    *(("items", of) for of in ("join(',', values(Sizes))", "Name", "Gone")),
    *(("more", "abs(Name)"), ("more", "Name"), ("id", "sum(Parts)")),
)


def of_days(days: str) -> str:
    metric = f"{{name: edge_things_total, help: A., days: {days}}}"
    return f"endpoints: [{{name: things, path: /things, metrics: [{metric}]}}]"


def of_a_list(**expressions: str | None) -> str:
    each = {"list": "/things", "items": "Items", "id": "Id", "page": "page", "more": "More", **expressions}
    return f"""
endpoints:
  - name: things
    path: /things/{{id}}
    label: thing
    each: {json.dumps(each)}
    metrics: [{{name: edge_things, help: A., value: Count}}]
"""


def listed(one: object) -> object:
    return {"Items": [{"Id": 1}, {"Id": one}], "More": False}


async def test_an_answer_gives_what_can_be_read_or_fails_its_target_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exporter.collectors.endpoints.listing.MOST_TARGETS", 3)
    monkeypatch.setattr("exporter.collectors.endpoints.listing.MOST_PAGES", 4)
    monkeypatch.setattr("exporter.collectors.endpoints.reading.MOST_SAMPLES", MOST_SAMPLES)
    item = {"Items": [{"Id": 1, "New": True, "Parts": ["a"]}], "More": False, "Name": "x", "Sizes": {"a": 1}}
    polls: list[tuple[str, Collector, object]] = [
        *((words, collector(ALL), answer) for words, answer in ANSWERS.items()),
        *((f"an object {answer}", collector(of_days('"{a: A, b: B}", label: part')), answer) for answer in OBJECTS),
        *((f"pairs {pairs}", collector(of_days("Chart")), {"Chart": pairs}) for pairs in PAIRS),
        ("no labels of a counter", collector(of_days("Classes, label: class")), {"Classes": {}}),
        ("equal labels of a counter", collector(of_days("Classes, label: class")), EQUAL),
        *((f"{key} of a list, {of}", collector(of_a_list(**{key: of}), "things_list"), item) for key, of in FAILING),
        *((f"a list of {one!r:.20}", collector(of_a_list(), "things_list"), listed(one)) for one in IDS),
        *((f"a list of {pages}", collector(of_a_list(more=None), "things_list"), pages) for pages in PAGES),
        ("an empty page before others", collector(of_a_list(), "things_list"), ANNOUNCED),
        *((f"a list of names, {of}", collector(of_a_list(name=of), "things_list"), item) for of in ("Id", "New")),
        ("a list without pages", collector(of_a_list(page=None, more=None), "things_list"), item),
        ("a list that the plan lacks", collector(of_a_list(), "things_list"), LACKING),
    ]
    text = ""
    for words, one, answer in polls:
        pages = answer if isinstance(answer, tuple) else (answer,)
        bodies = [page if isinstance(page, str) else json.dumps(page) for page in pages]
        text += f"### {words}\n{await told(one, bodies, ACCOUNT)}"
    assert_golden(text, EXPOSITIONS / "answers.txt")


async def test_a_secret_of_an_answer_is_in_no_label_whatever_the_expression() -> None:
    text = """
endpoints:
  - name: things
    path: /things
    metrics:
      - {name: edge_thing_info, info: {all: "join(' ', values(Settings))", last: "Settings.* | [-1]"}}
"""
    secrets = {"ApiKey": "hunter2", "password": "hunter2", "token_for_logs": "hunter2", "Nested_secret": ["hunter2"]}
    answer = {"Settings": {"Name": "x", "DeploymentKey": "hunter2"}, "ZoneKeys": ["hunter2"], **secrets}
    polled = await poll(collector(text), ACCOUNT, json.dumps(answer))
    assert "hunter2" not in exposed(collector(text), polled)
    assert 'all="x ***"' in exposed(collector(text), polled)
