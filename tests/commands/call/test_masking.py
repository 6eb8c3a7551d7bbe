"""The output of a command contains no secret, and cannot control a terminal."""

from exporter.commands.call.masking import as_text, masked


def test_the_interface_s_secret_fields_are_masked_wherever_they_stand() -> None:
    script = {
        "Name": "router",
        "DeploymentKey": "deploy",
        "EdgeScriptVariables": [{"Name": "A", "DefaultValue": "one"}, {"Name": "B", "DefaultValue": None}],
        "Secret": ["any", "thing"],
    }
    assert masked({"Items": [script]}) == {
        "Items": [
            {
                "Name": "router",
                "DeploymentKey": "***",
                "EdgeScriptVariables": [{"Name": "A", "DefaultValue": "***"}, {"Name": "B", "DefaultValue": None}],
                "Secret": "***",
            }
        ]
    }


def test_secrets_that_are_known_are_masked_within_texts() -> None:
    answer = {"a": "key hunter2 is wrong", "n": 2, "list": ["hunter2", None, True]}
    assert masked(answer, ["hunter2", ""]) == {"a": "key *** is wrong", "n": 2, "list": ["***", None, True]}


def test_people_get_lines_and_programs_get_one() -> None:
    assert as_text({"a": ["ü", 1.5]}, compact=False) == '{\n  "a": [\n    "ü",\n    1.5\n  ]\n}'
    assert as_text({"a": ["ü", 1.5]}, compact=True) == '{"a":["ü",1.5]}'


def test_characters_that_steer_a_terminal_are_escaped() -> None:
    text = as_text(["\x1b[2J", "\x9b31m", "\u202e", "\x7f"], compact=True)
    assert text == '["\\u001b[2J","\\u009b31m","\\u202e","\\u007f"]'


def test_half_a_character_is_no_reason_to_fail() -> None:
    assert as_text(["\ud800"], compact=True) == '["\\ud800"]'
