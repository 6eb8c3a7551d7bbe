"""`explain`: asks a running exporter why families have no series, and prints the answer.

In: families or targets, and the address of the exporter. Out: a summary by cause, or each absence with its evidence and
what to do. It needs neither the collectors nor the platform client.
"""

import json
import os
import ssl
import textwrap
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any, TextIO
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

import click
from pydantic import ValidationError

from exporter.collectors.causes import Cause
from exporter.commands.health_check import host_of
from exporter.commands.loading import loading
from exporter.commands.options import form_option
from exporter.commands.output.printing import MISUSE, complain, echo, terminal_width
from exporter.commands.output.table import lay_out
from exporter.foreign.terminal import escape

# The time limit: with a hundred thousand targets, an answer takes some seconds.
TIMEOUT_SECONDS = 60.0
_LONGEST_REFUSAL = 2000
_FAMILY = "edge_"
# The fields of an answer of the exporter's API.
Answer = Mapping[str, Any]
_KEYS = ("listen", "route_prefix", "config_file")
_FILE = click.Path(path_type=Path, dir_okay=False)
# Use the values: click would use the names of the enumeration's members.
_CAUSES = [cause.value for cause in Cause]


@click.command("explain")
@click.argument("things", nargs=-1, metavar="[FAMILY|TARGET]...")
@click.option("--collector", multiple=True, help="Only families of this collector.")
@click.option("--account", multiple=True, help="Only targets of this account.")
@click.option("--cause", multiple=True, type=click.Choice(_CAUSES), metavar="CAUSE", help="Only this cause.")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=1000, show_default=True, help="List at most this many absences."
)
@click.option("--config", type=_FILE, help="The exporter's configuration file; its web.listen is the address.")
@click.option("--url", help="The exporter's address, such as http://127.0.0.1:9877; in place of --config.")
@click.option("--username", default="", help="The user of the web configuration's basic authentication.")
@click.option("--password-file", type=click.File(encoding="utf-8"), help="The file of the password; - for stdin.")
@click.option("--ca-file", type=_FILE, help="Authorities that are trusted for https, PEM.")
@click.option("--cert-file", type=_FILE, help="The client's certificate, PEM.")
@click.option("--key-file", type=_FILE, help="The key of the client's certificate, PEM.")
@form_option("text", "json")
def command(
    things: tuple[str, ...],
    *,
    limit: int,
    config: Path | None,
    url: str | None,
    username: str,
    password_file: TextIO | None,
    ca_file: Path | None,
    cert_file: Path | None,
    key_file: Path | None,
    form: str,
    **filters: tuple[str, ...],
) -> None:
    """Ask a running exporter why families have no series: one cause each, its evidence, and what to do.

    FAMILY is the name of a family, such as edge_dns_queries_total. TARGET is a target, such as dns_zone/102, or its
    name, such as shop.example. Without either, a summary by cause is printed.
    """
    url = _url_of(config) if url is None else _checked(url)
    try:
        context = ssl.create_default_context(cafile=ca_file)
        if cert_file is not None:
            context.load_cert_chain(cert_file, key_file)
    except (OSError, ssl.SSLError) as error:
        complain(f"the certificates cannot be used: {error.strerror or error}")
    headers = {"Accept": "application/json"}
    if username:
        password = password_file.read().rstrip("\r\n") if password_file is not None else ""
        headers["Authorization"] = f"Basic {b64encode(f'{username}:{password}'.encode()).decode()}"
    targets = [thing for thing in things if not thing.startswith(_FAMILY)]
    fields = [("family" if thing.startswith(_FAMILY) else "target", thing) for thing in things]
    fields += [(field, value) for field, values in filters.items() for value in values]
    answer = _ask(url, [*fields, ("limit", str(limit))], headers, context)
    if form == "json":
        echo(json.dumps(answer, indent=2))
    else:
        _print(answer, targets, is_whole=not fields)


def _print(answer: Answer, targets: Sequence[str], *, is_whole: bool) -> None:
    """Print a summary of all absences, or each absence of what was named."""
    width, absences, unknown = terminal_width(), answer["absences"], answer["unknown_targets"]
    for name in unknown:
        echo(f"{name!r} is unknown: neither a target nor a name that discovery has found.")
    if is_whole:
        echo(summary(answer, width))
        if absences:
            echo("\nName a family, a target, --collector or --cause to see the evidence and what to do.")
        return
    if absences:
        echo(details(answer, width))
    elif len(unknown) < len(targets) or not targets:
        echo("Nothing is absent: every possible family has series.")
    if left := answer["matched"] - len(absences):
        echo(f"\n… and {left:,} more absences: name a target, or raise --limit.")


def _url_of(config: Path | None) -> str:
    """Return the URL at which the exporter of a configuration serves, whose other sections may be invalid."""
    with loading():  # not for the help
        from exporter.settings.flag import variable_of  # noqa: PLC0415
        from exporter.settings.loading import read_file  # noqa: PLC0415
        from exporter.settings.service import WebSettings  # noqa: PLC0415
        from exporter.validation.faults import ConfigurationError  # noqa: PLC0415
        from exporter.validation.yaml_file import file_names_resolved  # noqa: PLC0415
        from exporter.web.auth.web_config import load_web_config  # noqa: PLC0415

    file = read_file(config, os.environ)
    section = file_names_resolved(file.data or {}, Path(file.source).parent).get("web")
    given = {key: value for key, value in section.items() if key in _KEYS} if isinstance(section, dict) else {}
    given |= {key: text for key in _KEYS if (text := os.environ.get(variable_of("web", key), "").strip())}
    problem = "\n".join(map(str, file.faults))
    try:
        web = WebSettings.model_validate(given)
        is_encrypted = web.config_file is not None and load_web_config(web.config_file).tls() is not None
    except ValidationError:
        problem = problem or "the web section of the configuration is wrong; see `edge-exporter check`"
    except ConfigurationError as error:
        problem = problem or str(error)
    if problem:
        complain(f"{problem}\nGive --url to name the exporter's address.")
    return f"{'https' if is_encrypted else 'http'}://{host_of(web.listen.host)}:{web.listen.port}{web.route_prefix.rstrip('/')}"


def _checked(url: str) -> str:
    """Return the URL of `--url` without a slash at its end."""
    if "@" in url:
        complain("--url contains a user name or a password; expected --username and --password-file", MISUSE)
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        complain(f"--url is {url!r}; expected an address such as http://127.0.0.1:9877", MISUSE)
    return url.rstrip("/")


def _ask(
    url: str, fields: Sequence[tuple[str, str]], headers: Mapping[str, str], context: ssl.SSLContext
) -> dict[str, Any]:
    """Request `/api/v1/explain`, and return the answer."""
    request = Request(f"{url}/api/v1/explain?{urlencode(fields)}", headers=dict(headers))  # noqa: S310 - it was checked
    # The exporter is requested directly; the proxy of the environment is only for the platform.
    opener = build_opener(ProxyHandler({}), HTTPSHandler(context=context))
    try:
        with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
            answer = json.load(response)
    except HTTPError as error:
        said = error.read(_LONGEST_REFUSAL).decode("utf-8", "replace").strip()
        if error.code == HTTPStatus.UNAUTHORIZED:
            said = f"{url} asks for a user name and a password: give --username and --password-file"
        if error.code == HTTPStatus.NOT_FOUND:
            said = f"{url} has no /api/v1/explain: see whether the address and web.route_prefix are right"
        complain(said or f"{url} answered {error.code}")
    except HTTPException:
        complain(f"the server at {url} is not an edge-exporter: its answer is not HTTP")
    except OSError as error:
        reason = error.reason if isinstance(error, URLError) else error
        words = getattr(reason, "strerror", None) or str(reason)
        advice = "start one with `edge-exporter run`, or name its address with --url or --config"
        complain(f"no exporter answers at {url} ({words}): {advice}")
    except ValueError:
        complain(f"the server at {url} is not an edge-exporter: its answer is not JSON")
    if not isinstance(answer, dict) or "absences" not in answer:
        complain(f"the server at {url} is not an edge-exporter that explains absences")
    return answer


MOST_TARGETS = 5
_COLUMNS = ("FAMILIES", "TARGETS", "COLLECTOR", "CAUSE", "MEANING")


def summary(answer: Answer, width: int | None) -> str:
    """Return how many families are absent, by collector and cause."""
    rows = [
        (str(row["families"]), str(row["targets"]), row["collector"], row["cause"], row["text"])
        for row in answer["summary"]
    ]
    series = f"{answer['series']:,} series are exposed."
    if not rows:
        return f"{series} Every family that could be there has series."
    number = answer["absent_families"]
    head = f"{series} {number:,} {'family has' if number == 1 else 'families have'} no series, counted for each target:"
    return f"{head}\n\n{lay_out(_COLUMNS, rows, width, folded=('MEANING', 'COLLECTOR', 'CAUSE'))}"


def details(answer: Answer, width: int | None) -> str:
    """Return the absences; those of one collector, cause and set of families are grouped."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[Answer]] = {}
    for absence in answer["absences"]:
        key = (absence["cause"], absence["collector"], tuple(absence["families"]))
        groups.setdefault(key, []).append(absence)
    return "\n\n".join(
        "\n".join(wrapped for line in _group(alike) for wrapped in _wrapped(line, width)) for alike in groups.values()
    )


def _group(alike: Sequence[Answer]) -> Iterator[str]:
    first = alike[0]
    yield ", ".join(first["families"])
    yield f"  cause:    {first['cause']}: {first['text']}"
    for absence in alike[:MOST_TARGETS]:
        name = f" ({absence['name']})" if absence["name"] and absence["name"] not in absence["target"] else ""
        account = f" of {absence['account']}" if absence["account"] else ""
        yield f"  target:   {absence['target']}{name}{account}, by {absence['collector']}"
        yield f"  evidence: {absence['evidence']}"
    if len(alike) > MOST_TARGETS:
        yield f"  … and {len(alike) - MOST_TARGETS:,} more targets alike (-o json lists them)"
    yield f"  to do:    {first['advice']}"


def _wrapped(line: str, width: int | None) -> list[str]:
    line = escape(line)
    if width is None:
        return [line]
    hanging = "      " if line.startswith("  ") else "    "
    return textwrap.wrap(line, max(width, 20), subsequent_indent=hanging, break_on_hyphens=False)
