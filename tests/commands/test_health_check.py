"""The address that the image's health check requests."""

import pytest

from exporter.commands.health_check import health_url, main
from tests.ports import free_port

RUN = ("/opt/edge-exporter/bin/python", "/opt/edge-exporter/bin/edge-exporter", "run")
DEMO = (*RUN[:-1], "demo")
IMAGE = {"CONTAINER_LISTEN": ":9877"}


@pytest.mark.parametrize(
    ("words", "environ", "expected"),
    [
        (RUN, {}, "127.0.0.1:9877"),
        (RUN, IMAGE, "127.0.0.1:9877"),
        (RUN, {**IMAGE, "EDGE_EXPORTER_WEB__LISTEN": "0.0.0.0:9000"}, "127.0.0.1:9000"),
        (RUN, {"EDGE_EXPORTER_WEB__LISTEN": "[::]:9000"}, "[::1]:9000"),
        ((*RUN, "--web.listen", ":9001"), IMAGE, "127.0.0.1:9001"),
        ((*RUN, "--web.listen-address", ":9001"), IMAGE, "127.0.0.1:9001"),
        ((*RUN, "--web.listen=10.0.0.7:9001", "--log.level", "info"), IMAGE, "10.0.0.7:9001"),
        (("/sbin/init", "--", *RUN, "--web.listen", ":9001", ""), IMAGE, "127.0.0.1:9001"),
        ((*DEMO, "--listen", ":9002"), IMAGE, "127.0.0.1:9002"),
        (DEMO, {"EDGE_EXPORTER_WEB__LISTEN": ":9000"}, "127.0.0.1:9877"),
        # An address that is given.
        ((*RUN, "--web.listen", ":9001"), {"HEALTHCHECK_URL": "http://127.0.0.1:9877/-/healthy"}, "127.0.0.1:9877"),
    ],
)
def test_it_asks_where_the_exporter_listens(words: tuple[str, ...], environ: dict[str, str], expected: str) -> None:
    assert health_url(words, environ) == f"http://{expected}/-/healthy"


@pytest.mark.parametrize(
    ("options", "expected"), [((), "127.0.0.1:9878"), (("--host", "::", "--port=8000"), "[::1]:8000")]
)
def test_it_asks_a_sandbox_for_what_needs_no_key(options: tuple[str, ...], expected: str) -> None:
    assert health_url((*RUN[:-1], "sandbox", *options), IMAGE) == f"http://{expected}/sandbox/clock"


@pytest.mark.parametrize("url", ["s3cret", "http://edge:s3/cret@127.0.0.1", "http://edge:s3cret@[::1"])
def test_an_address_that_cannot_be_requested_is_not_shown(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("HEALTHCHECK_URL", url)
    with pytest.raises(SystemExit) as ended:
        main()
    assert "see HEALTHCHECK_URL" in str(ended.value)
    assert "s3" not in str(ended.value)


def test_an_exporter_that_does_not_answer_is_not_healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEALTHCHECK_URL", f"http://127.0.0.1:{free_port()}/-/healthy")
    with pytest.raises(SystemExit, match="refused"):
        main()
