"""Requests the API of a running exporter, with the web configuration's TLS and basic authentication."""

import json
import ssl
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

# The time limit: with a hundred thousand targets, an answer takes some seconds.
TIMEOUT_SECONDS = 60.0
_LONGEST_REFUSAL = 2000
_UNAUTHORIZED = 401
_NOT_FOUND = 404


class NoAnswerError(Exception):
    """The exporter gave no answer; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Access:
    """The address of an exporter, and the credentials for it.

    Attributes:
        url: its address, without a slash at the end.
        username: for basic authentication; empty for none.
        password: its password.
        ca_file: certificates of the authorities that are trusted, in place of the system's.
        certificate: the client's certificate, PEM; with its key where `key` is None.
        key: the key of it.
    """

    url: str
    username: str = ""
    password: str = ""
    ca_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


def ask(access: Access, fields: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Request `/api/v1/explain`, and return the answer.

    Raises:
        NoAnswerError: there is no usable answer.
    """
    url = f"{access.url}/api/v1/explain?{urlencode(fields)}"
    request = Request(url, headers={"Accept": "application/json"})  # noqa: S310 - the scheme was checked
    if access.username:
        pair = b64encode(f"{access.username}:{access.password}".encode()).decode()
        request.add_header("Authorization", f"Basic {pair}")
    try:
        context = ssl.create_default_context(cafile=access.ca_file)
        if access.certificate is not None:
            context.load_cert_chain(access.certificate, access.key)
    except (OSError, ssl.SSLError) as error:
        raise NoAnswerError(f"the certificates cannot be used: {error.strerror or error}") from None
    # The exporter is requested directly; the proxy of the environment is only for the platform.
    opener = build_opener(ProxyHandler({}), HTTPSHandler(context=context))
    try:
        with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
            answer = json.load(response)
    except HTTPError as error:
        raise NoAnswerError(_refusal(access.url, error)) from None
    except HTTPException:
        raise NoAnswerError(f"the server at {access.url} is not an edge-exporter: its answer is not HTTP") from None
    except (URLError, OSError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        words = getattr(reason, "strerror", None) or str(reason)
        raise NoAnswerError(
            f"no exporter answers at {access.url} ({words}): start one with `edge-exporter run`, or name its address "
            "with --url or --config"
        ) from None
    except ValueError:
        raise NoAnswerError(f"the server at {access.url} is not an edge-exporter: its answer is not JSON") from None
    if not isinstance(answer, dict) or "absences" not in answer:
        raise NoAnswerError(f"the server at {access.url} is not an edge-exporter that explains absences")
    return answer


def _refusal(url: str, error: HTTPError) -> str:
    said = error.read(_LONGEST_REFUSAL).decode("utf-8", "replace").strip()
    if error.code == _UNAUTHORIZED:
        return f"{url} asks for a user name and a password: give --username and --password-file"
    if error.code == _NOT_FOUND:
        return f"{url} has no /api/v1/explain: see whether the address and web.route_prefix are right"
    return said or f"{url} answered {error.code}"
