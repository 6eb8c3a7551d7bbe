"""`explain`: asks a running exporter which families have no series, and why, and prints the answer."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from http.client import HTTPException
from typing import Any, BinaryIO
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

import click

from exporter.commands.health_check import DEFAULT_LISTEN
from exporter.commands.options import form_option
from exporter.commands.output.printing import MISUSE, complain, echo
from exporter.untrusted.terminal import escape

TIMEOUT_SECONDS = 60.0
_REFUSAL_BYTES = 2000  # the most bytes of a refusal that are read and shown
_MOST_NAMES_SHOWN = 5


@click.command("explain")
@click.argument("things", nargs=-1, metavar="[FAMILY|TARGET]...")
@click.option("--url", default=f"http://{DEFAULT_LISTEN}", show_default=True, help="The exporter's address.")
@click.option("--username", default="", help="The user name for the exporter's basic authentication.")
@click.option("--password-file", type=click.File("rb"), help="The file with the password; - for stdin.")
@form_option("text", "json")
def command(things: tuple[str, ...], *, url: str, username: str, password_file: BinaryIO | None, form: str) -> None:
    """Ask a running exporter why families have no series.

    An argument that begins with edge_ is the name of a family, such as edge_dns_queries_total. Any other argument is a
    target, such as dns_zone/102, or the name of a target, such as shop.example. Without arguments, the absences of all
    families and targets are printed.
    """
    if "@" in url or not url.startswith(("http://", "https://")):
        complain(f"--url must be an address such as http://{DEFAULT_LISTEN}, without a user and a password", MISUSE)
    if password_file is not None and not username:
        complain("--password-file also needs --username", MISUSE)
    headers = {}
    if username:
        password = password_file.read().rstrip(b"\r\n") if password_file is not None else b""
        # `surrogateescape` restores the bytes of a command line that is not UTF-8.
        credentials = b"%b:%b" % (username.encode(errors="surrogateescape"), password)
        headers["Authorization"] = f"Basic {b64encode(credentials).decode()}"
    fields = [("family" if thing.startswith("edge_") else "target", thing) for thing in things]
    answer = _ask(url.rstrip("/"), fields, headers)
    echo(json.dumps(answer, indent=2) if form == "json" else "\n".join(map(escape, lines(answer))))


def _ask(url: str, fields: Sequence[tuple[str, str]], headers: Mapping[str, str]) -> dict[str, Any]:
    try:
        request = Request(f"{url}/api/v1/explain?{urlencode(fields)}", headers=dict(headers))  # noqa: S310 - checked
        # No proxy is used: a proxy in the environment is for the platform.
        with build_opener(ProxyHandler({})).open(request, timeout=TIMEOUT_SECONDS) as response:
            answer = json.load(response)
    except HTTPError as error:
        refusal = b""
        with error, suppress(OSError, HTTPException):  # the connection may end before the body does
            refusal = error.read(_REFUSAL_BYTES)
        complain(f"{url} answered {error.code}: {refusal.decode('utf-8', 'replace').strip() or error.reason}")
    except (OSError, HTTPException, ValueError) as error:
        # The `reason` of a URLError says what caused it.
        reason = getattr(error, "reason", error)
        complain(f"no edge-exporter answers at {url} ({reason}): start one with `edge-exporter run`, or set --url")
    if not isinstance(answer, dict) or not {"absences", "others"} <= answer.keys():
        complain(f"the server at {url} is not an edge-exporter")
    return answer


def lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines for an answer of `/api/v1/explain`.

    A target that was asked for, and has no absence, has one line. An absence has two lines.
    """
    for target, reason in answer["others"].items():
        yield f"{target}: {reason}"
    for absence in answer["absences"]:
        targets = [f"{one['target']} ({one['name']})" if one["name"] else one["target"] for one in absence["targets"]]
        account = f" of {absence['account']}" if absence["account"] else ""
        families = absence["families"]
        yield f"{_first_of(families, len(families))}: {_first_of(targets, absence['number'])}{account}"
        yield f"  {absence['text']}"
    if not (answer["others"] or answer["absences"]):
        yield "No absent family was found."


def _first_of(names: Sequence[str], total: int) -> str:
    """Return the first names as text, and how many more of `total` there are; `names` may have fewer than `total`."""
    more = total - _MOST_NAMES_SHOWN
    return ", ".join(names[:_MOST_NAMES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
