"""The health check of the container image, which runs it as `python -m exporter.commands.health_check`.

The check runs often, so this module does not import the settings or other commands, which take long to import.
"""

import os
import ssl
import sys
from http.client import HTTPException
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

DEFAULT_LISTEN = "127.0.0.1:9877"
TIMEOUT_SECONDS = 4


def main() -> None:
    """Request the URL in HEALTHCHECK_URL, by default /-/healthy of this container; exit with 1 if the request fails."""
    # The request is for this container, so it uses no proxy, and does not check the certificate.
    context = ssl._create_unverified_context()  # noqa: S323, SLF001
    opener = build_opener(ProxyHandler({}), HTTPSHandler(context=context))
    try:
        opener.open(os.environ.get("HEALTHCHECK_URL", f"http://{DEFAULT_LISTEN}/-/healthy"), timeout=TIMEOUT_SECONDS)
    except OSError as error:
        sys.exit(str(error))
    except (HTTPException, ValueError):
        sys.exit("the address cannot be requested, or its answer is not HTTP; see HEALTHCHECK_URL")


if __name__ == "__main__":
    main()
