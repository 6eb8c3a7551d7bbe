"""Tries the endpoints of a file with the daemon's collectors, or proposes an endpoint for an answer."""

import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from exporter.clock import SYSTEM
from exporter.collectors.collector import Collector, Context, Outcome
from exporter.collectors.endpoints.endpoint import ACCOUNT_KIND, Endpoint, EndpointMetric
from exporter.collectors.endpoints.expression import Expression, ExpressionError
from exporter.commands.call.sending import choose_account
from exporter.commands.endpoint.proposal import propose
from exporter.commands.output import interruptible
from exporter.commands.output.printing import FAULT, MISUSE, complain, complaining, echo
from exporter.exposition.encoding import Format, header, render
from exporter.metric import Family, Sample
from exporter.platform.errors import PlatformError
from exporter.platform.http.client import Calls, Observer
from exporter.platform.http.mask import mask_secrets
from exporter.platform.operation import Answer, Request, address_of
from exporter.settings.account import AccountSettings
from exporter.settings.loading import load_with_endpoints, read_endpoint_file
from exporter.settings.model import Settings
from exporter.settings.warnings import misnamed
from exporter.targets.registry import Registry
from exporter.targets.sharding import Shard
from exporter.targets.target import Target
from exporter.validation.faults import ConfigurationError, Fault, written
from exporter.wiring import clients, from_settings

T = TypeVar("T")

# The highest numbers of printed lines of an answer, and of printed characters of an expression's result.
ANSWER_LINES = 40
LONGEST_LINE = 160
SHOWN_ITEMS = 3
_MOST_BYTES = 16 * 1024 * 1024


def try_file(file: Path, config: Path | None, flags: Mapping[str, str], *, account: str | None, target: str) -> None:
    """Ask the platform once for each endpoint of a file; ends with exit code 1 where one fails, 2 where it is wrong."""
    with complaining(ConfigurationError, code=MISUSE):
        settings, number = load_with_endpoints([file], config, flags, os.environ)
    chosen = choose_account(settings, account)
    marked = read_endpoint_file(file)
    for path, message in misnamed(settings.endpoints[:number]):
        echo(f"warning: {Fault(*marked.locate(path), written(path), message)}", err=True)
    attempt = Attempt(settings, number, chosen, target)
    with complaining(ConfigurationError, code=MISUSE):
        for line in interruptible.run(attempt.run()):
            echo(line)
    if attempt.failed:
        sys.exit(FAULT)


def propose_metrics(source: str, name: str) -> None:
    """Print a file with one endpoint for an answer, which is in a file or on standard input (`-`)."""
    if re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name) is None:
        raise click.UsageError(f"--name: found {name[:60]!r}, expected small letters, digits and '_'")
    try:
        raw = sys.stdin.buffer.read(_MOST_BYTES + 1) if source == "-" else Path(source).read_bytes()[: _MOST_BYTES + 1]
    except OSError as error:
        complain(f"{source}: {(error.strerror or 'cannot be read').lower()}", MISUSE)
    if len(raw) > _MOST_BYTES:
        complain(f"{source} holds more than 16 MiB", MISUSE)
    try:
        answer = mask_secrets(json.loads(raw))
    except (ValueError, RecursionError):
        complain(f"{source} holds no JSON; expected an answer of the platform", MISUSE)
    for line in shortened(answer):
        echo(f"# {line}")
    for line in propose(answer, name):
        echo(line)


class AttemptError(Exception):
    """The endpoint cannot be tried; the message says why."""


@dataclass
class _Listening:
    """A caller that keeps the last answer."""

    base_url: str
    caller: Calls
    answer: Answer[Any] | None = None
    asked: str = ""

    async def call(self, request: Request[T]) -> Answer[T]:
        """Send a request, and keep its address and its answer."""
        self.asked = address_of(self.base_url, request)
        self.answer = answer = await self.caller.call(request)
        return answer


class Attempt:
    """Tries the endpoints of a file, the first ones of the settings, on the target of this id, or on the first one."""

    def __init__(self, settings: Settings, number: int, account: AccountSettings, target_id: str) -> None:
        self.failed = False  # whether any endpoint failed
        self._endpoints = settings.endpoints[:number]
        self._account = account
        self._target_id = target_id
        self._collectors = {collector.name: collector for collector in from_settings.collectors(settings)}
        self._registry = Registry(Shard())
        self._registry.configure(from_settings.selections(settings))

    async def run(self) -> list[str]:
        """Try all endpoints, and return the lines to print."""
        lines: list[str] = []
        async with aclosing(clients.client_of(self._account, Observer(), 1)) as client:
            for endpoint in self._endpoints:
                caller = _Listening(self._account.base_url, client.until(time.monotonic() + 3 * self._account.timeout))
                lines += [f"## {endpoint.name}", ""]
                try:
                    lines += await self._try(endpoint, caller)
                except (AttemptError, PlatformError) as error:
                    self.failed = True
                    asked = [f"GET {caller.asked}"] if caller.asked else []
                    lines += [*asked, f"failed: {error}"]
                lines.append("")
        return lines

    async def _try(self, endpoint: Endpoint, caller: _Listening) -> list[str]:
        target, lines = await self._target(endpoint, caller)
        collector = self._collectors[endpoint.name]
        polled = await collector.result(Context(caller, self._registry, SYSTEM.utc()), target)
        if caller.answer is None:
            raise polled.error or AttemptError("nothing was asked")
        document = caller.answer.value.value
        size = len(caller.answer.raw)
        lines += [f"GET {caller.asked}", f"answered in {caller.answer.seconds:.2f} s, {size} bytes:", ""]
        lines += [f"    {line}" for line in shortened(document)]
        lines += ["", "What the expressions read:", ""]
        lines += [f"    {line}" for metric in endpoint.metrics for line in _picked(metric, document)]
        if polled.error is not None:
            self.failed = True
            return [*lines, "", f"failed: {polled.error}"]
        return [*lines, "", *_exposition(collector, polled.outcomes[0])]

    async def _target(self, endpoint: Endpoint, caller: _Listening) -> tuple[Target, list[str]]:
        """Return the target to poll, and the lines about the list that contains it."""
        kind, account = endpoint.target_kind, self._account.name
        if kind == ACCOUNT_KIND:
            unused = ["--target does nothing here: the endpoint is polled once for each account", ""]
            return Target(account, kind, account, account), unused if self._target_id else []
        lists = self._collectors.get(f"{endpoint.name}_list")
        if lists is None:
            # Targets from the configuration, and targets from an earlier list of the same file.
            known = [one for one in self._registry.targets(kind) if one.account == account]
            chosen = next((one for one in known if self._target_id in ("", one.id)), None)
            if chosen is None and not self._target_id:
                raise AttemptError(f"there are several of the kind {kind}; --target ID selects one")
            return chosen or Target(account, kind, self._target_id), []
        listed = Target(account, ACCOUNT_KIND, account, account)
        polled = await lists.result(Context(caller, self._registry, SYSTEM.utc()), listed)
        if polled.found is not None:
            self._registry.apply(account, polled.found)
        resources = polled.found.lists[kind].resources if polled.found and kind in polled.found.lists else ()
        if polled.error is not None:
            raise polled.error
        wanted = next((one for one in resources if self._target_id in ("", one.id)), None)
        lines = [f"{endpoint.each.list.text if endpoint.each else ''} lists {len(resources)} targets", ""]
        if wanted is None:
            raise AttemptError(f"the list contains no {kind} {self._target_id}".rstrip())
        return replace(Target(account, kind, wanted.id), name=wanted.name), lines


def shortened(document: object) -> list[str]:
    """Return an answer as lines of JSON; long lists and lines are cut."""
    lines = json.dumps(_cut(document), indent=2, ensure_ascii=False).splitlines()
    left = len(lines) - ANSWER_LINES
    return [_line(line) for line in lines[:ANSWER_LINES]] + ([f"… {left} more lines"] if left > 0 else [])


def _cut(value: object) -> object:
    if isinstance(value, list):
        left = len(value) - SHOWN_ITEMS
        return [_cut(item) for item in value[:SHOWN_ITEMS]] + ([f"… {left} more"] if left > 0 else [])
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    return value


def _line(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…"


def _picked(metric: EndpointMetric, document: object) -> Iterator[str]:
    sources = {"value": metric.value, "days": metric.days, "month": metric.month, **metric.info}
    for source, expression in sources.items():
        if expression is not None:
            yield _line(f"{metric.name}: {source} {expression.text} = {_read(expression, document)}")


def _read(expression: Expression, value: object) -> str:
    try:
        found = expression.read(value)
    except ExpressionError as error:
        return f"an error: {error}"
    return "nothing: no such field, or null" if found is None else json.dumps(found, ensure_ascii=False)


def _exposition(collector: Collector, outcome: Outcome) -> Iterator[str]:
    yield "The exposition (a counter begins at 0 when it is first seen):"
    yield ""
    # A counter as `/metrics` shows it after the first poll.
    counters = [
        Family(count.info, tuple(Sample(count.labels + values, 0.0) for values, _ in count.sources))
        for count in outcome.counts
    ]
    for info in collector.families:
        for family in (*outcome.families, *counters):
            if family.info == info:
                text = (header(info, Format.TEXT) + render(family)).decode()
                yield from (f"    {line}" for line in text.splitlines())
