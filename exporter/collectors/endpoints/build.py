"""Creates the collectors of configured endpoints."""

from collections.abc import Sequence
from functools import partial

from pydantic import TypeAdapter

from exporter.collectors.collector import Collector, Context, TargetCollector, identity
from exporter.collectors.endpoints.endpoint import ACCOUNT_KIND, KIND_LABELS, Endpoint
from exporter.collectors.endpoints.listing import EndpointListCollector
from exporter.collectors.endpoints.reading import metric_of
from exporter.platform.api.document import Document
from exporter.platform.operation import Answer, Operation, Request
from exporter.targets.target import Target


def make_collectors(endpoints: Sequence[Endpoint]) -> tuple[Collector, ...]:
    """Return the collectors of endpoints: one for each endpoint, and one more for an endpoint with the key `each`."""
    own_labels = {one.own_kind: identity(f"{one.own_kind}_id", one.own_kind) for one in endpoints if one.own_kind}
    labels_by_kind = {**KIND_LABELS, **own_labels, ACCOUNT_KIND: identity()}
    collectors: list[Collector] = []
    for endpoint in endpoints:
        if endpoint.each is not None:
            collectors.append(EndpointListCollector(endpoint, endpoint.each))
        operation = Operation(
            name=endpoint.name,
            path=endpoint.path.template,
            help=f"The configured endpoint {endpoint.name}.",
            answer=TypeAdapter(Document),
            documented=False,
        )
        collector = TargetCollector(
            name=endpoint.name,
            polls=endpoint.target_kind,
            interval=endpoint.interval,
            operations=(operation,),
            fetch=partial(_fetch, endpoint, operation),
            labels=labels_by_kind[endpoint.target_kind],
            metrics=tuple(metric_of(metric, endpoint.path) for metric in endpoint.metrics),
        )
        collectors.append(collector)
    return tuple(collectors)


async def _fetch(
    endpoint: Endpoint, operation: Operation[Document], context: Context, target: Target
) -> Answer[Document]:
    return await context.caller.call(Request(operation, endpoint.path.parameters(target.id, context.now)))
