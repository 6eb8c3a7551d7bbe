"""Builds the collectors of the configured endpoints."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from exporter.collectors.collector import ACCOUNT, Collector, Context, Label, TargetCollector
from exporter.collectors.endpoints.endpoint import Endpoint
from exporter.collectors.endpoints.kinds import ACCOUNT_KIND, KIND_LABELS, own_labels
from exporter.collectors.endpoints.listing import EndpointListCollector
from exporter.collectors.endpoints.path import PathError
from exporter.collectors.endpoints.reading import metric_of
from exporter.collectors.endpoints.shared_calls import SharedCalls
from exporter.platform.api.document import Document
from exporter.platform.errors import WrongShape
from exporter.platform.operation import Answer, Operation, Request
from exporter.targets.target import Target

_DOCUMENT = TypeAdapter(Document)


def collectors(endpoints: Sequence[Endpoint], addresses: Mapping[str, str]) -> tuple[Collector, ...]:
    """Return the collectors of these endpoints: one for each, and one for each list of targets.

    Args:
        endpoints: the endpoints.
        addresses: account → its base address.
    """
    shared = SharedCalls(dict(Counter(endpoint.path.template for endpoint in endpoints)))
    labels = {endpoint.own_label: own_labels(endpoint.own_label) for endpoint in endpoints if endpoint.own_label}
    return tuple(_made(endpoints, {**KIND_LABELS, **labels, ACCOUNT_KIND: (ACCOUNT,)}, shared, addresses))


def _made(
    endpoints: Iterable[Endpoint],
    labels: Mapping[str, tuple[Label[Any], ...]],
    shared: SharedCalls,
    addresses: Mapping[str, str],
) -> Iterable[Collector]:
    for endpoint in endpoints:
        if endpoint.each is not None:
            yield EndpointListCollector(endpoint, endpoint.each)
        yield target_collector(endpoint, labels[endpoint.target_kind], shared, addresses)


def target_collector(
    endpoint: Endpoint, labels: tuple[Label[Any], ...], shared: SharedCalls, addresses: Mapping[str, str]
) -> TargetCollector[Document]:
    """Return the collector that polls the targets of an endpoint."""
    operation = Operation(
        name=endpoint.name,
        method="GET",
        path=endpoint.path.template,
        help=f"The configured endpoint {endpoint.name}.",
        answer=_DOCUMENT,
        documented=False,
        is_compared=not shared.shares(endpoint.path.template),
    )

    async def fetch(context: Context, target: Target) -> Answer[Document]:
        try:
            parameters = endpoint.path.parameters(target.id, context.now)
        except PathError as error:
            raise WrongShape(str(error)) from None
        return await shared.ask(
            endpoint.name,
            operation.path,
            (target.account, operation.path.format_map(parameters)),
            now=context.now,
            interval=endpoint.interval,
            call=lambda: context.caller.call(Request(operation, parameters)),
        )

    return TargetCollector(
        name=endpoint.name,
        polls=endpoint.target_kind,
        interval=endpoint.interval,
        operations=(operation,),
        fetch=fetch,
        labels=labels,
        metrics=tuple(metric_of(metric, endpoint.path, addresses) for metric in endpoint.metrics),
    )
