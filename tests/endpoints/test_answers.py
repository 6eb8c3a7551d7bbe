# ruff: noqa: E501 - a message stands on one line, as it is printed
"""Hostile answers: each one fails only its own target, with a clear message, or gives the values that can be read."""

import json
from typing import Any

import pytest

from exporter.platform.errors import OutOfRange, PlatformError
from exporter.targets.target import Target
from tests.collectors.polls import exposed, poll
from tests.endpoints.configured import collector

ACCOUNT = Target("main", "account", "main", "main")
ALL = """
endpoints:
  - name: things
    path: /things
    metrics:
      - {name: edge_things, help: A., value: Count}
      - {name: edge_thing_classes, help: B., value: Classes, label: class}
      - {name: edge_thing_served_total, help: C., days: Chart}
      - {name: edge_thing_charges_total, help: D., month: Month}
      - {name: edge_thing_info, help: E., info: {tier: Tier, note: Note}}
      - {name: edge_thing_modified_timestamp_seconds, help: F., value: Modified}
      - {name: edge_thing_sum, help: G., value: sum(values(Chart))}
"""
DEEP: Any = 1
for _ in range(150):
    DEEP = {"a": DEEP}

FAILING = {
    "a text": ({"Count": "17"}, "edge_things cannot be read from the answer: a text, expected a number; a number in quotes takes to_number(…)"),
    "a list": ({"Count": [1]}, "edge_things cannot be read from the answer: a list, expected a number"),
    "an object": ({"Count": {"a": 1}}, "edge_things cannot be read from the answer: an object, expected a number"),
    "a number of 400 digits": ({"Count": 10**400}, "edge_things cannot be read from the answer: int too large to convert to float"),
    "a number without end": ('{"Count": 1e999}', "edge_things cannot be read from the answer: inf, expected a finite number"),
    "no number": ('{"Count": NaN}', "edge_things cannot be read from the answer: nan, expected a finite number"),
    "a label's value that is a text": ({"Classes": {"a": "1"}}, "edge_thing_classes cannot be read from the answer: a text, expected a number; a number in quotes takes to_number(…)"),
    "classes that are a number": ({"Classes": 4}, "edge_thing_classes cannot be read from the answer: a number, expected an object such as {a: A, b: B}, or a list of pairs"),
    "classes that are no pairs": ({"Classes": [["a", 1], ["b"]]}, "edge_thing_classes cannot be read from the answer: a list in a list, expected pairs such as [Name, Count]"),
    "a class twice": ({"Classes": [["a", 1], ["a", 2]]}, "edge_thing_classes cannot be read from the answer: the label value 'a' twice"),
    "a class that is an object": ({"Classes": [[{"a": 1}, 1]]}, "edge_thing_classes cannot be read from the answer: an object, expected a text or a number for a label"),
    "more classes than can be kept": ({"Classes": {str(one): 1 for one in range(10_001)}}, "edge_thing_classes cannot be read from the answer: 10001 values of the label class, expected at most 10000"),
    "a chart of texts": ({"Chart": {"2026-02-08": "5"}}, "edge_thing_served_total cannot be read from the answer: a text, expected a number; a number in quotes takes to_number(…)"),
    "a chart of booleans": ({"Chart": {"2026-02-08": True}}, "edge_thing_served_total cannot be read from the answer: a boolean, expected a number"),
    "a chart of charts": ({"Chart": {"2026-02-08": {"a": 1}}}, "edge_thing_served_total cannot be read from the answer: an object, expected a number"),
    "a chart that is a list of numbers": ({"Chart": [1, 2, 3]}, "edge_thing_served_total cannot be read from the answer: a list, expected an object of days, or a list of pairs such as [Date, Count]"),
    "a chart of weeks": ({"Chart": {f"2026-01-{day:02}": 1 for day in (1, 8, 15, 22)}}, "the chart's buckets are 7 days long, so that the count of a day is not known"),
    "a chart without end": ({"Chart": {str(one): 1 for one in range(10_001)}}, "edge_thing_served_total cannot be read from the answer: 10001 buckets, expected at most 10000"),
    "charges below zero": ({"Month": -3}, "edge_thing_charges_total cannot be read from the answer: -3, expected a count from 0 up to what 64 bits hold"),
    "charges that are a boolean": ({"Month": False}, "edge_thing_charges_total cannot be read from the answer: a boolean, expected a number"),
    "an info that is an object": ({"Tier": {"a": 1}}, "edge_thing_info cannot be read from the answer: an object, expected a text or a number for a label"),
    "a date that is none": ({"Modified": "yesterday"}, "edge_thing_modified_timestamp_seconds cannot be read from the answer: a text that is not a date, expected a date or unix seconds"),
    "HTML": ("<html>", "the platform answered 200 with a body that is HTML"),
    "half a body": ('{"Count": 1', "the platform answered 200 with a body that is not whole JSON"),
    "nothing": ("", "the platform answered 200 with an empty body"),
    "JSON that is nested without end": ("[" * 5000, "the platform answered 200 with a body that is not whole JSON"),
    "an envelope of a failure": ({"data": None, "error": {"success": False, "message": "no such plan", "errorKey": "plan"}}, "the platform answered 200 with a failure: no such plan"),
    "a failure of its own shape": ({"error": {"message": {"a": 1}}}, "the platform answered 200 with a failure: the answer reports a failure in an undocumented shape"),
}  # fmt: skip
HARMLESS = {
    "null": (None, []),
    "a number": (7, []),
    "a list": ([1, 2], []),
    "an empty object": ({}, []),
    "a very deep object": (DEEP, []),
    "a boolean": ({"Count": True}, ['edge_things{account="main"} 1.0']),
    "a count of 28.0": ({"Count": 28.0}, ['edge_things{account="main"} 28.0']),
    "nulls": ({"Count": None, "Classes": None, "Month": None, "Tier": None, "Modified": None}, []),
    "null beside numbers": ({"Classes": {"a": None, "b": 2}}, ['edge_thing_classes{account="main",class="b"} 2.0']),
    "pairs": (
        {"Classes": [["a", 1], [None, 2], [3, 4]]},
        ['edge_thing_classes{account="main",class="a"} 1.0', 'edge_thing_classes{account="main",class="3"} 4.0'],
    ),
    "a date of seven digits": (
        {"Modified": "1970-01-01T00:00:01.5000000Z"},
        ['edge_thing_modified_timestamp_seconds{account="main"} 1.5'],
    ),
    "a date without a zone": (
        {"Modified": "1970-01-01T00:00:02"},
        ['edge_thing_modified_timestamp_seconds{account="main"} 2.0'],
    ),
    "a date that means never": ({"Modified": "0001-01-01T00:00:00"}, []),
    "days written day first": (
        {"Chart": {"07-02-2026": 3, "08-02-2026": 4}},
        ['edge_thing_served_total{account="main"} 0.0', 'edge_thing_sum{account="main"} 7.0'],
    ),
    "days that are no dates": ({"Chart": {"": 3}}, ['edge_thing_served_total{account="main"} 0.0', 'edge_thing_sum{account="main"} 3.0']),
    "null buckets": (
        {"Chart": {"2026-02-08": None}},
        ['edge_thing_served_total{account="main"} 0.0', 'edge_thing_sum{account="main"} 0.0'],
    ),
    "a chart that is null": ({"Chart": None}, ['edge_thing_served_total{account="main"} 0.0']),
    "a key in a text": ({"Tier": "\ud800\0x"}, ['edge_thing_info{account="main",note="",tier="?�x"} 1.0']),
    "an info of one part": ({"Tier": 3, "Note": None}, ['edge_thing_info{account="main",note="",tier="3"} 1.0']),
}  # fmt: skip


def body(answer: object) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer)


@pytest.mark.parametrize(("answer", "message"), FAILING.values(), ids=FAILING)
async def test_a_hostile_answer_fails_its_target_in_words(answer: object, message: str) -> None:
    with pytest.raises(PlatformError) as failure:
        await poll(collector(ALL), ACCOUNT, body(answer))
    assert str(failure.value).startswith(message)
    is_too_large = message.endswith(("convert to float", "expected a finite number", "what 64 bits hold"))
    assert isinstance(failure.value, OutOfRange) == is_too_large


@pytest.mark.parametrize(
    ("key", "expression"), {"items": "join(',', values(Sizes))", "more": "abs(Name)", "id": "sum(Parts)"}.items()
)
async def test_a_list_whose_expression_fails_is_a_failure_in_words(key: str, expression: str) -> None:
    each = {"list": "/things", "items": "Items", "id": "Id", "page": "page", "more": "More", key: expression}
    text = f"""
endpoints:
  - name: things
    path: /things/{{id}}
    label: thing
    each: {json.dumps(each)}
    metrics: [{{name: edge_things, help: A., value: Count}}]
"""
    answer = {"Items": [{"Id": 1, "Parts": ["a"]}], "More": False, "Name": "x", "Sizes": {"a": 1}}
    polled = await poll(collector(text, "things_list"), ACCOUNT, json.dumps(answer))
    assert str(polled.outcomes[0].error).startswith(f"{key} cannot be read from the list: ")


@pytest.mark.parametrize(("answer", "lines"), HARMLESS.values(), ids=HARMLESS)
async def test_what_can_be_had_of_an_odd_answer_is_had(answer: object, lines: list[str]) -> None:
    text = exposed(collector(ALL), await poll(collector(ALL), ACCOUNT, body(answer)))
    assert sorted(line for line in text.splitlines() if not line.startswith("#")) == sorted(lines)


@pytest.mark.parametrize(("answer", "counts"), [({"A": {}}, 1), ({"A": None, "B": None}, 1), ({"C": 1}, 0)])
async def test_a_counter_begins_when_a_field_of_its_object_is_there(answer: object, counts: int) -> None:
    declared = '{name: edge_things_total, help: A., days: "{a: A, b: B}", label: part}'
    text = f"endpoints: [{{name: things, path: /things, metrics: [{declared}]}}]"
    polled = await poll(collector(text), ACCOUNT, json.dumps(answer))
    assert len(polled.outcomes[0].counts) == counts


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
