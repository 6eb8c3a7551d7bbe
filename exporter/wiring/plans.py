"""Creates the collectors and their plans from the settings."""

from exporter.collectors.catalogue import with_queries
from exporter.collectors.collector import Collector
from exporter.collectors.database import DatabaseQuery
from exporter.collectors.endpoints import build
from exporter.collectors.endpoints.endpoint import Endpoint
from exporter.collectors.endpoints.listing import EndpointListCollector
from exporter.polling.pace import Plan
from exporter.settings.model import Settings


def plans_of(settings: Settings) -> dict[str, Plan]:
    """Return name → plan of the enabled collectors that discover targets, or have a family that is served."""
    sections = settings.collector_settings()
    plans: dict[str, Plan] = {}
    # Section → the configured endpoint or databases of its collectors. A change of these changes the plan, too.
    declared: dict[str, object] = {endpoint.name: endpoint for endpoint in endpoints_of(settings)}
    declared["database"] = settings.databases
    for collector in collectors_of(settings):
        section = sections[collector.section]
        is_useful = collector.discovers or any(settings.series.serves(info.name) for info in collector.families)
        if section.enabled and is_useful:
            interval = section.interval
            if isinstance(collector, EndpointListCollector):
                # A list of an endpoint's targets is read at most as often as discovery runs.
                interval = max(interval, sections["discovery"].interval)
            declaration = declared.get(collector.section)
            plans[collector.name] = Plan(collector, interval, section.stale_after, declaration)
    return plans


def collectors_of(settings: Settings) -> tuple[Collector, ...]:
    """Return the collectors, enabled or not, including the collectors of configured queries and endpoints."""
    return (*with_queries(queries_of(settings)), *build.make_collectors(endpoints_of(settings)))


def endpoints_of(settings: Settings) -> list[Endpoint]:
    """Return the configured endpoints; an interval under `collectors:` has priority over that of the endpoint."""
    sections = settings.collector_settings()
    return [one.model_copy(update={"interval": sections[one.name].interval}) for one in settings.endpoints]


def queries_of(settings: Settings) -> list[DatabaseQuery]:
    """Return the configured queries; a query without an interval gets the interval of the collector `database`."""
    interval = settings.collector_settings()["database"].interval
    queries = ((database.name, query) for database in settings.databases for query in database.queries)
    return [DatabaseQuery(database_name, query, query.interval or interval) for database_name, query in queries]
