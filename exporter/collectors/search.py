"""Results of configured searches (interface document, SearchResponse)."""

from exporter.collectors.collector import TargetCollector, identity
from exporter.metric import Metric
from exporter.platform.api import search

COLLECTOR: TargetCollector[int | None] = TargetCollector(
    name="search",
    polls="search",
    interval=600,
    operations=(search.SEARCH,),
    fetch=lambda context, target: search.count(context.caller, target.id),
    labels=identity("query"),
    metrics=(
        Metric(
            "edge_search_results",
            "Resources that a configured search finds (Total), polled.",
            value=lambda total: total,
        ),
    ),
)
