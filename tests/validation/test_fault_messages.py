from exporter.validation.faults import ConfigurationError, Fault, suggestion, written


def test_a_fault_is_one_line() -> None:
    fault = Fault("config.yml", 12, "accounts[0].timeuot", "unknown key; did you mean 'timeout'?")
    assert str(fault) == "config.yml:12: accounts[0].timeuot: unknown key; did you mean 'timeout'?"


def test_what_is_not_known_of_a_fault_is_left_out() -> None:
    assert [str(Fault("config.yml", None, "", "is empty")), str(Fault("", None, "", "nothing to do"))] == [
        "config.yml: is empty",
        "nothing to do",
    ]


def test_an_error_holds_every_fault() -> None:
    faults = (Fault("a", 1, "x", "wrong"), Fault("a", 2, "y", "wrong"))
    error = ConfigurationError(faults)
    assert (error.faults, str(error)) == (faults, "a:1: x: wrong\na:2: y: wrong")


def test_a_path_is_written_as_in_the_file() -> None:
    assert (
        written(("accounts", 0, "scripts", 'my "script"\n', "x-y")) == 'accounts[0].scripts["my \\"script\\"\\n"].x-y'
    )


def test_a_suggestion_is_made_only_where_something_is_near() -> None:
    assert suggestion("timeuot", ["name", "timeout"]) == "; did you mean 'timeout'?"
    assert suggestion("qqqq", ["name", "timeout"]) == ""
