"""Asks the exporter of this container for its health; the image runs it as `python -m exporter.commands.health_check`.

It runs every few seconds, so it imports neither the settings nor the commands.
"""

import os
import ssl
import sys
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from itertools import pairwise
from pathlib import Path
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

DEFAULT_LISTEN = "127.0.0.1:9877"
SANDBOX_PORT = "9878"
LISTEN_FLAGS = frozenset({"--listen", "--web.listen", "--web.listen-address"})
# Addresses that a server can listen on, but that a client cannot connect to.
LOOPBACK = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]", "[::]": "[::1]"}  # noqa: S104 - nothing listens here
TIMEOUT_SECONDS = 4


def host_of(listen: str) -> str:
    """Return the host of a URL for the host of an address to listen on."""
    host = LOOPBACK.get(listen, listen)
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def health_url(words: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the URL of the exporter's health endpoint, or one that the sandbox answers without a key.

    Args:
        words: the command line; `--listen`, `--web.listen`, `--web.listen-address` and the sandbox's `--port` are used.
        environ: its environment. HEALTHCHECK_URL, if set, is returned; it is needed with `web.route_prefix`, TLS, or a
            `web.listen` in the configuration file.
    """
    if url := environ.get("HEALTHCHECK_URL"):
        return url
    options = {}
    for word, following in pairwise([*words, ""]):
        flag, is_joined, value = word.partition("=")
        options["--listen" if flag in LISTEN_FLAGS else flag] = value if is_joined else following
    if "sandbox" in words:
        host = host_of(options.get("--host", "127.0.0.1"))
        return f"http://{host}:{options.get('--port', SANDBOX_PORT)}/sandbox/clock"
    # The demo ignores the environment variables of the exporter.
    variables = {} if "demo" in words else environ
    given = variables.get("EDGE_EXPORTER_WEB__LISTEN") or variables.get("CONTAINER_LISTEN") or DEFAULT_LISTEN
    host, _, port = options.get("--listen", given).strip().rpartition(":")
    return f"http://{host_of(host)}:{port}/-/healthy"


def main() -> None:
    """Send one request, and exit with an error if the exporter is not healthy."""
    words = Path("/proc/1/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    # No proxy and no check of the certificate: the request does not leave this container.
    context = ssl._create_unverified_context()  # noqa: S323, SLF001
    opener = build_opener(ProxyHandler({}), HTTPSHandler(context=context))
    try:
        opener.open(health_url(words, os.environ), timeout=TIMEOUT_SECONDS)
    except OSError as error:
        sys.exit(str(error))
    except (HTTPException, ValueError):
        sys.exit("the address cannot be requested, or its answer is not HTTP; see HEALTHCHECK_URL")


if __name__ == "__main__":
    main()
