"""The address that the image's health check requests."""

import pytest

from exporter.commands.health_check import main
from tests.ports import free_port


@pytest.mark.parametrize("url", ["s3cret", "http://edge:s3/cret@127.0.0.1", "http://edge:s3cret@[::1"])
def test_an_address_that_cannot_be_requested_is_not_shown(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("HEALTHCHECK_URL", url)
    with pytest.raises(SystemExit) as ended:
        main()
    assert "see HEALTHCHECK_URL" in str(ended.value)
    assert "s3" not in str(ended.value)


def test_an_exporter_that_does_not_answer_is_not_healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.invalid")
    monkeypatch.setenv("HEALTHCHECK_URL", f"http://127.0.0.1:{free_port()}/-/healthy")
    with pytest.raises(SystemExit, match="refused"):
        main()
