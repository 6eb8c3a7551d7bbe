import errno
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.foreign.regular_file import unreadable
from exporter.validation.faults import KeyPath
from exporter.validation.yaml_file import MarkedFile, parse_marked, read_marked

TEXT = """\
accounts:
  - name: main
    budget: {requests_per_second: 10,
             max_in_flight: 32}
    key: |
      several
      lines
  -
    name: other
"""


def parse(text: str) -> MarkedFile:
    """Parse a text as a file called config.yml."""
    return parse_marked(text, "config.yml", example="accounts:")


@pytest.mark.parametrize(
    ("path", "line", "is_written"),
    [
        (("accounts",), 1, True),
        (("accounts", 0), 2, True),
        (("accounts", 0, "name"), 2, True),
        (("accounts", 0, "budget", "max_in_flight"), 4, True),
        (("accounts", 0, "key"), 5, True),
        (("accounts", 1), 9, True),
        (("accounts", 1, "name"), 9, True),
        # What is not written stands where it would be.
        *((path, 1, False) for path in (("accounts", 7), ("accounts", "x"))),
        (("accounts", 0, "absent"), 2, False),
        (("absent", "x"), None, False),
    ],
)
def test_every_key_stands_on_its_line(path: KeyPath, line: int | None, *, is_written: bool) -> None:
    assert (parse(TEXT).locate(path), path in parse(TEXT).places) == (("config.yml", line), is_written)


def test_scalars_stay_text_as_written() -> None:
    assert parse("{a: 1.10, b: 0123, c: on, d: null, e: 'null', f: 2024-01-01, 7: ~, g: }").data == {
        "a": "1.10",
        "b": "0123",
        "c": "on",
        "d": None,
        "e": "null",
        "f": "2024-01-01",
        "7": None,
        "g": None,
    }


def test_an_alias_is_the_same_again_and_a_merge_key_gives_way_to_what_is_written() -> None:
    file = parse("a: &x {k: 1, l: 2}\nb: *x\nc: {<<: *x, l: 3}\nd: {<<: [*x, {m: 4}]}\n")
    assert file.data == {
        "a": {"k": "1", "l": "2"},
        "b": {"k": "1", "l": "2"},
        "c": {"l": "3", "k": "1"},
        "d": {"k": "1", "l": "2", "m": "4"},
    }
    assert (file.places["c", "k"].line, file.places["c", "l"].line) == (1, 3)


@given(st.text(max_size=60))
def test_any_text_is_data_or_faults(text: str) -> None:
    file = parse(text)
    assert file.data is not None or file.faults != ()


def test_file_names_are_relative_to_the_file_that_says_them() -> None:
    names = {"info": {"log_file": "l"}, "monthly_budget_dollars": {"a_file": "20"}, "basic_auth_users": {"b_file": "h"}}
    data = {
        "a": [{"key_file": "k", "other": "k"}],
        "ca_file": "/etc/ca",
        "x_file": None,
        "y_file": ["z"],
        "z_file": " ",
    }
    resolved = data | {"a": [{"key_file": "/conf/k", "other": "k"}]}
    assert parse_marked(json.dumps(data | names), "/conf/x.yml", example="").data == resolved | names


UNREADABLE = {
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR), "does not exist"),
    errno.EISDIR: "is a directory, expected a file",
    errno.EACCES: "cannot be read: permission denied",
    errno.EIO: "cannot be read: input/output error",
    errno.ENAMETOOLONG: "cannot be read: file name too long",
}


def test_why_a_file_cannot_be_read_is_said_in_our_words() -> None:
    assert {number: unreadable(OSError(number, os.strerror(number))) for number in UNREADABLE} == UNREADABLE


def bomb(inner: str, width: int = 9, depth: int = 30) -> str:
    """Return a file whose aliases expand to about width**depth values."""
    lines = ["l0: &l0 " + inner.replace("X", "lol")]
    lines += [
        f"l{depth}: &l{depth} " + inner.replace("X", ", ".join([f"*l{depth - 1}"] * width))
        for depth in range(1, depth + 1)
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text", [bomb("[X]"), bomb("{<<: [X]}").replace("[lol]", "{a: b}"), bomb("{<<: [X]}").replace("[lol]", "{}")]
)
def test_a_file_whose_aliases_explode_is_refused_where_they_begin_to(text: str) -> None:
    marked = parse(text)
    assert marked.data is None
    (fault,) = marked.faults
    # 9 ** 6 values are more than a file may have; 9 ** 5 are not.
    assert fault.line in {6, 7}
    assert "aliases expand this to more than 200000 values" in fault.message


def test_what_is_written_once_and_used_often_is_read() -> None:
    ids = ", ".join(map(str, range(5_000)))
    marked = parse(f"ids: &ids [{ids}]\n" + "\n".join(f"account{n}: *ids" for n in range(8)))
    assert marked.faults == ()
    assert marked.data is not None
    assert marked.data["account7"] == [str(number) for number in range(5_000)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((text, "lone surrogate") for text in ('"x\\ud800y"', '{"b\\udc00": 2}', '["\\udc00\\ud800"]')),
        *((f'["\\U{number}"]', "a number that is no character") for number in ("00110000", "FFFFFFFF")),
    ],
)
def test_what_is_no_character_is_refused_by_its_line(text: str, said: str) -> None:
    marked = parse(f"a: 1\nb: {text}")
    (fault,) = marked.faults
    assert (marked.data, fault.line, said in fault.message) == (None, 2, True)
    fault.message.encode()


def test_a_character_in_two_escapes_is_whole_as_in_json() -> None:
    assert parse(json.dumps({"name": "a🚀b", "🚀": 1})).data == {"name": "a🚀b", "🚀": "1"}


def test_a_file_that_would_take_minutes_to_parse_is_refused_at_once(tmp_path: Path) -> None:
    (fault,) = parse("a:\n- 1\nb: [" + "1," * 1_900_000 + "]").faults
    assert str(fault) == "config.yml: has more than 100000 lines and commas; put long lists of ids into an ids_file"
    large = tmp_path / "large.yml"
    large.write_bytes(b"#" * (4 << 20))
    assert read_marked(large, example="accounts:", may_be_empty=True).faults == ()
    large.write_bytes(b"#" * ((4 << 20) + 1))
    (fault,) = read_marked(large, example="accounts:").faults
    assert str(fault) == f"{large}: is larger than 4 MiB; put long lists of ids into an ids_file"
