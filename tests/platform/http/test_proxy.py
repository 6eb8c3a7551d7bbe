"""Which calls go through a proxy of the environment, and which go directly."""

import os
from base64 import b64encode

import pytest

from exporter.platform.api import dns
from exporter.platform.errors import ProxyFault
from exporter.platform.http.proxy import is_direct, proxy_of, proxy_secrets
from tests.platform.clients import KEY, client_of
from tests.platform.raw_server import raw_server, reply, saying

GOOD = reply('{"TotalQueriesServed": 7}', Set_Cookie="session=1; Path=/")
PROXY = "http://proxy.example.net:3128"


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


async def test_calls_go_through_the_proxy_of_the_environment_and_never_those_of_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with raw_server(saying(GOOD)) as proxy, raw_server(saying(GOOD)) as direct:
        monkeypatch.setenv("ALL_PROXY", f"http://me:pa%3Ass@127.0.0.1:{proxy.port}")
        async with client_of("http://platform.example") as kit:
            for zone in (102, 103):
                await dns.read_statistics(kit.calls, zone)
        async with client_of(direct.url) as kit:
            await dns.read_statistics(kit.calls, 102)
    path, sent = "/dnszone/102/statistics", proxy.requests[0]
    assert (sent.target, sent.header("Host"), sent.header("AccessKey")) == (
        *(f"http://platform.example{path}", "platform.example", KEY),
    )
    credentials = "Basic " + b64encode(b"me:pa:ss").decode()
    assert [one.header("Proxy-Authorization") for one in proxy.requests] == [credentials] * 2
    assert [one.header(name) for one in proxy.requests for name in ("Authorization", "Cookie")] == [None] * 4
    assert (proxy.connections, [one.target for one in direct.requests]) == (1, [path])


@pytest.mark.parametrize(
    ("environ", "used"),
    [
        ({}, None),
        ({"HTTPS_PROXY": PROXY}, PROXY),
        ({"https_proxy": PROXY, "HTTPS_PROXY": "http://other"}, PROXY),
        ({"HTTP_PROXY": PROXY}, None),
        ({"all_proxy": PROXY}, PROXY),
        ({"ALL_PROXY": "http://other", "HTTPS_PROXY": PROXY}, PROXY),
        ({"HTTPS_PROXY": "", "ALL_PROXY": PROXY}, PROXY),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "api.example.net"}, None),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "api.example.net:443"}, None),
    ],
)
def test_the_variable_of_the_scheme_comes_before_the_one_for_all(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], used: str | None
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    proxy = proxy_of("https://api.example.net")
    assert (proxy and str(proxy.url)) == used


def test_the_port_of_an_excluded_address_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", PROXY)
    monkeypatch.setenv("NO_PROXY", "api.example.net:8443")
    assert proxy_of("https://api.example.net:8443") is None


def test_what_a_proxy_gets_is_secret_which_without_a_password_may_be_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {}
    for words in ("", "me:pa%3Ass@", "t0ken@"):
        monkeypatch.setenv("ALL_PROXY", f"http://{words}127.0.0.1:1")
        secrets[words] = proxy_secrets("http://platform.example")
    assert secrets == {"": (), "me:pa%3Ass@": ("pa:ss", "bWU6cGE6c3M"), "t0ken@": ("t0ken", "dDBrZW46")}


@pytest.mark.parametrize(
    ("excluded", "direct", "through"),
    [
        ("*", "api.example.net 10.0.0.7", ""),
        ("", "localhost LOCALHOST. a.localhost 127.0.0.1 127.9.9.9 ::1", "localhost.example.net 10.0.0.7 ::2"),
        ("example.net", "example.net api.example.net API.Example.NET.", "badexample.net example.net.evil"),
        (".example.net", "example.net api.example.net", "badexample.net"),
        ("example.net.", "example.net api.example.net", "badexample.net"),
        ("*.example.net", "api.example.net", "badexample.net"),
        ("a.test, b.test c.test", "a.test b.test c.test", "d.test"),
        ("example.net:8080, *:80, 10.0.0.7:80, [2001:db8::1]:80", "", "example.net 10.0.0.7 2001:db8::1"),
        ("*:443", "example.net 10.0.0.7 2001:db8::1", ""),
        ("example.net:443", "example.net api.example.net", "badexample.net"),
        ("10.0.0.7", "10.0.0.7", "10.0.0.8 10.0.0.7.example.net"),
        ("10.0.0.7/8", "10.0.0.7 10.255.0.1", "11.0.0.1 example.net"),
        ("10.0.0.7:443", "10.0.0.7", "10.0.0.8"),
        ("2001:db8::/32", "2001:db8::1", "2001:db9::1"),
        ("2001:db8::1", "2001:db8::1 2001:DB8:0::1", "2001:db8::2"),
        ("[2001:db8::1]", "2001:db8::1", "2001:db8::2"),
        ("[2001:db8::1]:443", "2001:db8::1", "2001:db8::2"),
        ("fe80::/10", "fe80::2%eth0", "2001:db8::1"),
        ("10.0.0.0/99, :, [, /, 300.1.1.1", "", "10.0.0.7 example.net"),
        ("example.net:0443, *:" + "4" * 5000, "example.net", "10.0.0.7"),  # Python converts at most 4300 digits
    ],
)
def test_addresses_networks_domains_and_ports_are_excluded(excluded: str, direct: str, through: str) -> None:
    found = {host: is_direct(host, 443, excluded) for host in f"{direct} {through}".split()}
    assert found == dict.fromkeys(direct.split(), True) | dict.fromkeys(through.split(), False)


@pytest.mark.parametrize(
    "address",
    [
        "socks5://127.0.0.1:1080",
        "ftp://127.0.0.1:21",
        "http://127.0.0.1:port",
        "http://127.0.0.1:0",
        "http://127.0.0.1:65536",
        "http://me:1/s3cret@127.0.0.1:3128",
    ],
)
def test_an_environment_that_names_no_proxy_is_refused_with_its_variable(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", address)
    with pytest.raises(ProxyFault, match="HTTP_PROXY is not the URL of an HTTP proxy"):
        proxy_of("http://platform.example")
    monkeypatch.delenv("http_proxy")
    monkeypatch.setenv("ALL_PROXY", address)
    with pytest.raises(ProxyFault, match="ALL_PROXY is not the URL of an HTTP proxy"):
        proxy_of("http://platform.example")
