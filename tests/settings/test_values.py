import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from exporter.settings.account import parse_database_url, token_in_url
from exporter.validation.types import (
    ListenAddress,
    format_duration,
    parse_base_url,
    parse_duration,
    parse_listen,
    parse_proxy,
    parse_route_prefix,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10.0),
        ("5m", 300.0),
        ("1h30m", 5400.0),
        ("1d", 86_400.0),
        ("2w", 1_209_600.0),
        ("500ms", 0.5),
        ("1.5s", 1.5),
        ("1m30s", 90.0),
        (" 10s ", 10.0),
        ("0", 0.0),
    ],
)
def test_a_duration_is_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "s",
        "10x",
        "-5s",
        "+5s",
        "5 m",
        "30m1h",
        "1m1m",
        "1h-5m",
        "nan",
        "inf",
        "1e3",
        "٣s",
        ".",
        "9" * 400,
        "30",
        "0.25",
    ],
)
def test_what_is_no_duration_is_none(text: str) -> None:
    assert parse_duration(text) is None


@given(st.integers(min_value=0, max_value=10**12))
def test_a_duration_survives_being_written_and_read(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds / 1000)) == pytest.approx(milliseconds / 1000)


@given(st.text(max_size=40))
def test_any_text_is_a_finite_duration_of_at_least_zero_or_none(text: str) -> None:
    seconds = parse_duration(text)
    assert seconds is None or 0 <= seconds < float("inf")


@given(
    st.lists(st.sampled_from(["w", "d", "h", "m", "s", "ms"]), unique=True, min_size=1),
    st.integers(min_value=1, max_value=999),
)
def test_units_in_falling_order_add_up(units: list[str], amount: int) -> None:
    sizes = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1, "ms": 0.001}
    falling = sorted(units, key=lambda unit: -sizes[unit])
    text = "".join(f"{amount}{unit}" for unit in falling)
    assert parse_duration(text) == pytest.approx(sum(amount * sizes[unit] for unit in units))


@pytest.mark.parametrize(
    ("text", "address", "written"),
    [
        ("127.0.0.1:9877", ListenAddress("127.0.0.1", 9877), "127.0.0.1:9877"),
        ("[::1]:9877", ListenAddress("::1", 9877), "[::1]:9877"),
        (":9877", ListenAddress("", 9877), ":9877"),
        ("localhost:0", ListenAddress("localhost", 0), "localhost:0"),
    ],
)
def test_a_listen_address_has_a_host_and_a_port(text: str, address: ListenAddress, written: str) -> None:
    assert (parse_listen(text), str(address)) == (address, written)


@pytest.mark.parametrize(
    "text", ["9877", "::1:9877", "host:", "host:x", "host:65536", "http://host:80", "a b:80", "[::1]"]
)
def test_what_is_no_listen_address_is_refused(text: str) -> None:
    with pytest.raises(PydanticCustomError):
        parse_listen(text)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://api.example.net", "https://api.example.net"),
        ("https://api.example.net/", "https://api.example.net"),
        ("http://localhost:8080/edge//", "http://localhost:8080/edge"),
        (" https://[::1]:8443 ", "https://[::1]:8443"),
    ],
)
def test_a_base_url_ends_without_a_slash(text: str, url: str) -> None:
    assert parse_base_url(text) == url


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ftp://api.example.net", "has another scheme; expected one of https, http"),
        ("https://", "names no host; expected a URL such as https://api.example.net"),
        (
            "https://user:hunter2@api.example.net",
            "contains a user name or a password; expected a URL without, and the key in api_key or api_key_file",
        ),
        ("https://api.example.net?key=hunter2", "contains a query or a fragment; expected a URL without"),
        ("https://api.example.net:port", "is not a URL; expected one such as https://api.example.net"),
        ("user:hunter2@api.example.net", "is not a URL; expected one such as https://api.example.net"),
        ("https://[::1", "is not a URL; expected one such as https://api.example.net"),
    ],
)  # fmt: skip
def test_a_wrong_base_url_is_refused_without_what_may_be_secret_in_it(text: str, message: str) -> None:
    with pytest.raises(PydanticCustomError) as refused:
        parse_base_url(text)
    assert refused.value.message() == message


def test_a_proxy_may_have_a_password() -> None:
    assert parse_proxy("http://user:hunter2@proxy.example.net:3128/") == "http://user:hunter2@proxy.example.net:3128"


@pytest.mark.parametrize(
    ("text", "url", "token"),
    [
        ("libsql://abc.lite.example.net", "https://abc.lite.example.net", None),
        ("https://abc.lite.example.net/", "https://abc.lite.example.net", None),
        ("http://localhost:8080", "http://localhost:8080", None),
        ("libsql://abc.lite.example.net?authToken=a.b%2Dc+d", "https://abc.lite.example.net", "a.b-c+d"),
    ],
)
def test_a_database_url_is_reached_by_http_and_gives_up_its_token(text: str, url: str, token: str | None) -> None:
    assert (parse_database_url(text), token_in_url(text)) == (url, token)


@pytest.mark.parametrize(("text", "prefix"), [("/", "/"), ("/edge", "/edge"), ("/edge/", "/edge"), ("/a/b", "/a/b")])
def test_a_route_prefix_ends_without_a_slash(text: str, prefix: str) -> None:
    assert parse_route_prefix(text) == prefix


@pytest.mark.parametrize("text", ["", "edge", "//", "/a//b", "/..", "/a?b", "/a b"])
def test_what_is_no_route_prefix_is_refused(text: str) -> None:
    with pytest.raises(PydanticCustomError):
        parse_route_prefix(text)
