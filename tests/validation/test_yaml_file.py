import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.validation.configuration_errors import ConfigurationError
from exporter.validation.yaml_file import parse_marked


def refusal(text: str) -> list[str]:
    """Return why a text is refused as the file config.yml; empty if it is not."""
    try:
        parse_marked(text, "config.yml")
    except ConfigurationError as error:
        return str(error).splitlines()
    return []


SCALARS = "{a: 1.10, b: 0123, c: on, d: null, e: 'null', f: 2024-01-01, 7: ~, g: }"
MERGED = "a: &x {k: 1, l: 2}\nb: *x\nc: &c {<<: *x, l: 3}\nd: {<<: [*x, {m: 4}]}\ne: *c\nf: {<<: *x, <<: {m: 4}}\n"
BOTH, OWN = {"k": "1", "l": "2"}, {"k": "1", "l": "3"}
NAMES = {
    "info": {"log_file": "l"},
    "labels": {"c_file": "v"},
    "monthly_budget_dollars": {"a_file": "20"},
    "basic_auth_users": {"b_file": "h"},
}
FILES = {"a": [{"key_file": "k", "other": "k"}], "ca_file": "/etc/ca", "x_file": None, "y_file": ["z"], "z_file": " "}


@pytest.mark.parametrize(
    ("text", "data"),
    [
        # Scalars stay text as written.
        (
            SCALARS,
            {"a": "1.10", "b": "0123", "c": "on", "d": None, "e": "null", "f": "2024-01-01", "7": None, "g": None},
        ),
        # An alias is the same again, and a merge key gives way to what is written.
        (MERGED, {"a": BOTH, "b": BOTH, "c": OWN, "d": BOTH | {"m": "4"}, "e": OWN, "f": BOTH | {"m": "4"}}),
        # File names are relative to the file that contains them.
        (json.dumps(FILES | NAMES), FILES | NAMES | {"a": [{"key_file": "/conf/k", "other": "k"}]}),
    ],
)
def test_what_is_written_is_data(text: str, data: dict[str, object]) -> None:
    assert parse_marked(text, "/conf/x.yml").data == data


@given(st.text(max_size=60))
def test_any_text_is_data_or_one_fault(text: str) -> None:
    assert len(refusal(text)) <= 1


def test_aliases_that_make_billions_of_values_of_a_few_are_refused_in_a_moment() -> None:
    lines = ["l0: &l0 [x]", *(f"l{depth}: &l{depth} [{', '.join([f'*l{depth - 1}'] * 9)}]" for depth in range(1, 31))]
    assert refusal("\n".join(lines)) == ["config.yml:1: cannot be read as YAML: found more than 1000000 values"]
