"""`backfill`: writes history from the charts as a file that Prometheus, Thanos and Mimir accept."""

import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import click

from exporter.backfill.baselines import BaselineError
from exporter.backfill.charts import BUILT_IN, History, families, history_of, limits_of
from exporter.backfill.job import Backfill, Failure, Report, Selected
from exporter.backfill.output import RefusedError, Spool, parts_of
from exporter.backfill.samples import STEPS, Span
from exporter.clock import SYSTEM
from exporter.collectors.collector import TargetCollector
from exporter.collectors.endpoints.listing import EndpointListCollector
from exporter.commands.configuration import read_configuration
from exporter.commands.output import interruptible
from exporter.commands.output.printing import FAULT, MISUSE, complain, complaining, echo
from exporter.commands.output.progress import progress_bars
from exporter.foreign.terminal import escape
from exporter.platform.http.client import Observer
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.validation.faults import ConfigurationError, suggestion
from exporter.wiring import from_settings
from exporter.wiring.clients import client_of
from exporter.wiring.state_storage import baselines as baselines_of

INTERRUPTED = 130
SAY_SECONDS = 10.0
SHOWN_FAILURES = 20
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)
_TAKEN = {name for info in families(BUILT_IN) for name in info.labels}

Progressed = Callable[[Report], None]

# The labels that the shipped scrape configuration gives to the series of targets, whichever exporter serves them.
SHIPPED_LABELS = dict.fromkeys(("job", "instance", "pod"), "edge-exporter")


def parse_labels(values: Iterable[str]) -> dict[str, str]:
    """Return the labels that `NAME=VALUE` texts add to every series.

    Raises:
        click.BadParameter: a text is not a label, or its name is in use.
    """
    labels: dict[str, str] = {}
    for value in values:
        name, equals, text = value.partition("=")
        problem = ""
        if not equals or not _LABEL.fullmatch(name) or name.startswith("__"):
            problem = f"found {value!r}, expected NAME=VALUE such as job=edge-exporter"
        elif name in _TAKEN:
            problem = f"{name!r} is a label that the series have already"
        elif name in labels:
            problem = f"{name!r} stands twice"
        if problem:
            raise click.BadParameter(problem, param_hint="'--label'")
        labels[name] = text
    return labels


def backfill(config: Path | None, job: "Job", flags: Mapping[str, str]) -> None:
    """Write a history, and print the result."""
    with complaining(ConfigurationError, code=MISUSE):
        settings = read_configuration(config, flags, os.environ)[0]
    if refusal := job.refusal(settings):
        complain(refusal, MISUSE)
    try:
        wrong = complaining(RefusedError, ConfigurationError, code=MISUSE)
        with wrong, complaining(BaselineError), _progress() as progressed:
            report, samples = interruptible.run(_run(settings, job, progressed))
    except KeyboardInterrupt:
        complain("interrupted; the same command continues from here", INTERRUPTED)
    except OSError as error:
        complain(f"cannot write {job.output}: {error.strerror or error}; the same command continues from here")
    _summarize(report, samples, job.output)
    if report.failures or report.unknown:
        raise SystemExit(FAULT)


@dataclass(frozen=True, slots=True)
class Job:
    """The arguments of a backfill."""

    first: int | None
    last: int | None
    output: Path
    labels: dict[str, str]
    step: str
    selected: Selected

    def refusal(self, settings: Settings) -> str | None:
        """Return why the arguments are refused, before any call of the platform; None if they are valid."""
        if not settings.accounts:
            return "there is no account in the configuration: databases have no history"
        unknown = sorted(self.selected.accounts - {account.name for account in settings.accounts})
        if unknown:
            return f"--account: there is no account {unknown[0]!r} in the configuration"
        if self.first is not None and self.last is not None and self.first > self.last:
            return f"--from and --to: {Span(self.first, self.last)} contains no day"
        taken = {label for info in families(_endpoint_histories(settings)) for label in info.labels}
        if refused := sorted(taken & self.labels.keys()):
            return f"--label: {refused[0]!r} is already a label of an endpoint's series"
        if self.output.exists() and not parts_of(self.output).exists():
            return f"{self.output} is there already: remove it, or name another --output"
        return None


async def _run(settings: Settings, job: Job, progressed: Progressed) -> tuple[Report, int]:
    share = settings.shard.own(socket.gethostname())
    registry = Registry(share)
    registry.configure(from_settings.selections(settings))
    histories = [*BUILT_IN, *_endpoint_histories(settings)]
    lists = [one for one in from_settings.collectors(settings) if isinstance(one, EndpointListCollector)]
    async with AsyncExitStack() as opened:
        clients = {account.name: client_of(account, Observer(), settings.shard.parts) for account in settings.accounts}
        for client in clients.values():
            opened.push_async_callback(client.aclose)
        baselines = await baselines_of(settings.state, share)
        opened.push_async_callback(baselines.close)
        for notice in _notices(settings, job, baselines.notice):
            echo(notice, err=True)
        step, selected = STEPS[job.step], job.selected
        work = Backfill(registry, clients, baselines, job.labels, step, selected, SYSTEM, progressed, histories, lists)
        span = await work.survey(job.first, job.last)
        was_begun = parts_of(job.output).exists()
        terms = {"days": str(span), "step": job.step, "labels": job.labels, "shard": settings.shard.total}
        with closing(Spool(job.output, families(histories), terms)) as spool:
            report = await work.run(span, spool)
            if not report.targets and not report.failures:
                if not was_begun:
                    shutil.rmtree(parts_of(job.output))
                known = sorted(
                    {name for target in registry.targets("dns_zone") for name in (target.id, target.name) if name}
                )
                raise RefusedError(
                    "\n".join(
                        f"--zone: no selected account has a zone {zone!r}{suggestion(zone, known)}"
                        for zone in report.unknown
                    )
                    or "nothing is selected: no target with a history is configured, and none discovered"
                )
            if spool.samples or not (report.failures or report.unknown):
                spool.finish(keep=bool(report.failures))
            return report, spool.samples


def _notices(settings: Settings, job: Job, of_state: str) -> Iterator[str]:
    if of_state:
        yield of_state
    if missing := {"job", "instance"} - job.labels.keys():
        proposed = " ".join(f"--label {name}={value}" for name, value in SHIPPED_LABELS.items())
        named = " and no ".join(sorted(missing))
        yield f"The series get no {named}. Those of the shipped scrape configuration are {proposed}"
    if not job.selected.zones:
        yield from (f"{one.name}: {limit}" for one in from_settings.endpoints(settings) for limit in limits_of(one))


def _endpoint_histories(settings: Settings) -> Iterator[History]:
    """Return the histories of the configured endpoints that are polled."""
    polled = {plan.collector.name: plan.collector for plan in from_settings.plans(settings)}
    for endpoint in from_settings.endpoints(settings):
        collector = polled.get(endpoint.name)
        history = history_of(endpoint, collector) if isinstance(collector, TargetCollector) else None
        if history is not None:
            yield history


def _summarize(report: Report, samples: int, output: Path) -> None:
    lines = [_described(failure) for failure in report.failures]
    lines += [f"dns_zone/{escape(zone)}: no selected account has this zone" for zone in report.unknown]
    for line in lines[:SHOWN_FAILURES]:
        echo(f"not written: {line}", err=True)
    if len(lines) > SHOWN_FAILURES:
        echo(f"not written: {len(lines) - SHOWN_FAILURES} more", err=True)
    again = f" ({report.resumed} by an earlier run)" if report.resumed else ""
    if output.exists():
        size = f"{output.stat().st_size / 1e6:.1f} MB"
        echo(f"{output}: {report.span}, {report.targets} targets{again}, {samples} samples, {size}.")
    else:
        echo(f"{output} is not written: there is nothing of {report.span}.")
    if report.live:
        echo(f"{report.live} targets were counted live before {report.span}, which adds nothing to them.")
    if report.failures:
        echo(f"{len(report.failures)} could not be read; the same command tries them again.")
    if report.unknown:
        echo(f"No selected account has these zones: {', '.join(report.unknown)}.")
    if output.exists():
        echo(f"Next: promtool tsdb create-blocks-from --max-block-duration=1200h openmetrics {output} DIRECTORY")


def _described(failure: Failure) -> str:
    target = failure.target
    name = f" ({target.name})" if target.name and not target.key.label.endswith(f"/{target.name}") else ""
    return escape(f"{target.account}: {target.key.label}{name}: {failure.reason}")


@contextmanager
def _progress() -> Iterator[Progressed]:
    if not sys.stderr.isatty():
        yield progress_lines(time.monotonic)
        return
    with progress_bars() as draw:
        yield lambda report: draw("targets", report.done, report.targets, f"{len(report.failures)} failed")


def progress_lines(monotonic: Callable[[], float]) -> Progressed:
    """Return what prints a line to standard error at most every `SAY_SECONDS`."""
    began = said = monotonic()

    def progressed(report: Report) -> None:
        nonlocal said
        now = monotonic()
        if now - said < SAY_SECONDS:
            return
        said = now
        new = report.done - report.resumed
        left = timedelta(seconds=round((now - began) / new * (report.targets - report.done))) if new else "?"
        echo(f"{report.done} of {report.targets} targets, {len(report.failures)} failed, about {left} left", err=True)

    return progressed
