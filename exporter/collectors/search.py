"""The number of results of a configured search (interface document, SearchResponse).

The id of a target is the text to search for.
"""

from exporter.collectors.collector import TargetCollector, identity
from exporter.metric import Metric
from exporter.platform.api import global_search

COLLECTOR: TargetCollector[int | None] = TargetCollector(
    name="search",
    polls="search",
    interval=600,
    operations=(global_search.SEARCH,),
    fetch=lambda context, target: global_search.count_results(context.caller, target.id),
    labels=identity("query"),
    metrics=(
        Metric(
            "edge_search_results",
            "Resources that a configured search finds (Total), polled.",
            value=lambda total: total,
        ),
    ),
)
