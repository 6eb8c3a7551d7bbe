"""Results of configured searches (interface document, SearchResponse)."""

from exporter.collectors.collector import ACCOUNT, Context, Label, TargetCollector
from exporter.metric import Metric
from exporter.platform.api import search
from exporter.platform.operation import Answer
from exporter.targets.target import Target


async def _fetch(context: Context, target: Target) -> Answer[int | None]:
    return await search.count(context.caller, target.id)


COLLECTOR: TargetCollector[int | None] = TargetCollector(
    name="search",
    polls="search",
    interval=600,
    operations=(search.SEARCH,),
    fetch=_fetch,
    labels=(ACCOUNT, Label("query", lambda target, _: target.id)),
    metrics=(
        Metric(
            "edge_search_results",
            "Resources that a configured search finds (Total), polled.",
            value=lambda total: total,
        ),
    ),
)
