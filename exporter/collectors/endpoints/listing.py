"""Discovers the targets of a configured endpoint from a list of the platform, page by page."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Any
from urllib.parse import quote

from pydantic import TypeAdapter

from exporter.collectors.collector import Collector, Context, Outcome, PollResult
from exporter.collectors.endpoints.endpoint import LONGEST_ID, Endpoint, TargetList
from exporter.collectors.endpoints.expression import Expression, ExpressionError, whole_as_integer
from exporter.platform.api.document import Document
from exporter.platform.errors import NotAvailable, PlatformError, WrongShape
from exporter.platform.operation import Operation, Request
from exporter.targets.target import Inventory, Resource, ResourceList, Target

# The number of items to request in a page; an item may take several kilobytes.
PAGE_SIZE = 200
MOST_PAGES = 100_000
MOST_TARGETS = 200_000
LIST_SUFFIX = "_list"


class _Announced(Enum):
    """What a page of a list says about the next page: that one follows, that none follows, or nothing."""

    ANOTHER_PAGE = auto()
    NO_PAGE = auto()
    NOTHING = auto()


@dataclass(slots=True)
class _Found:
    """The items of a list's pages.

    Attributes:
        ids: the ids in the pages, including ids that cannot be polled.
        resources: id → resource, without the ids that cannot be polled.
        is_complete: False if a target may be missing in the pages.
        date: the platform's time at the latest page whose answer has a time; None if no answer has one.
    """

    ids: set[str] = field(default_factory=set)
    resources: dict[str, Resource] = field(default_factory=dict)
    is_complete: bool = True
    date: datetime | None = None

    def add(self, resource: Resource | None) -> None:
        if resource is None or resource.id in self.ids:
            # If an id is listed twice, items may have moved to other pages between the requests.
            self.is_complete = False
            return
        self.ids.add(resource.id)
        if _is_usable(resource.id):
            self.resources[resource.id] = resource


class EndpointListCollector(Collector):
    """Discovers the targets of an endpoint in an account.

    Attributes:
        kind: the kind of the discovered targets.
    """

    polls = "account"
    discovers = every_shard = True
    families = ()

    def __init__(self, endpoint: Endpoint, listing: TargetList) -> None:
        self.name = endpoint.name + LIST_SUFFIX
        self.kind = endpoint.target_kind
        self.interval = endpoint.interval
        self._endpoint_name = endpoint.name
        self._listing = listing
        template = listing.list.template
        for parameter, value in ((listing.page, "{page}"), (listing.size, str(PAGE_SIZE))):
            if parameter:
                template += ("&" if "?" in template else "?") + f"{quote(parameter, safe='')}={value}"
        self._operation = Operation(
            name=self.name,
            path=template,
            help=f"The list of the targets of the configured endpoint {endpoint.name}.",
            answer=TypeAdapter(Document),
            documented=False,
        )
        self.operations = (self._operation,)

    @property
    def section(self) -> str:
        """The endpoint's key under `collectors:`, which has the settings of the list, too."""
        return self._endpoint_name

    async def poll(self, context: Context, target: Target) -> PollResult:
        """Read and report the list of targets; if a page fails, report the earlier pages as an incomplete list.

        Raises:
            NotAvailable: the platform has no data for the list; nothing is reported.
        """
        found = _Found()
        error: PlatformError | None = None
        try:
            await self._read_pages(context, found)
        except NotAvailable:
            raise
        except PlatformError as fault:
            error = fault
            found.is_complete = False
        if found.resources or error is None:
            listed = ResourceList(tuple(found.resources.values()), found.is_complete)
            await context.report_found(Inventory({self.kind: listed}))
        return PollResult((Outcome(target, error=error),), found.date)

    async def _read_pages(self, context: Context, found: _Found) -> None:
        for page in range(1, MOST_PAGES + 1):
            parameters = {**self._listing.list.parameters(target_id="", now=context.now), "page": page}
            answer = await context.caller.call(Request(self._operation, parameters))
            found.date = answer.date
            count_before = len(found.ids)
            items, announced = self._read_page(answer.value)
            for item in items:
                found.add(self._resource(item))
            if len(found.resources) > MOST_TARGETS:
                raise WrongShape(f"the list has more than {MOST_TARGETS} items")
            if announced is _Announced.NO_PAGE or not self._listing.page:
                return
            if len(found.ids) == count_before:
                # The list is complete only if the page is empty and does not announce another page.
                is_end = not items and announced is _Announced.NOTHING
                found.is_complete = found.is_complete and is_end
                return
        # There may be more pages.
        found.is_complete = False

    def _read_page(self, document: Document) -> tuple[list[Any], _Announced]:
        listing = self._listing
        items = _evaluate(listing.items, document.value, "items")
        if items is None:
            raise WrongShape(f"the list has no items at {listing.items.text}")
        if not isinstance(items, list):
            raise WrongShape(f"{listing.items.text} is not a list")
        if listing.more is None:
            return items, _Announced.NOTHING
        more = _evaluate(listing.more, document.value, "more")
        if more is None:
            return items, _Announced.NOTHING
        if not isinstance(more, bool):
            raise WrongShape(f"{listing.more.text} is neither true nor false")
        return items, _Announced.ANOTHER_PAGE if more else _Announced.NO_PAGE

    def _resource(self, item: Any) -> Resource | None:  # noqa: ANN401 - any JSON
        """Return the resource of an item; None if the item's id is empty, or of another type than integer and text."""
        found = whole_as_integer(_evaluate(self._listing.id, item, "id"))
        if isinstance(found, bool) or not isinstance(found, int | str) or found == "":
            return None
        name = None if self._listing.name is None else whole_as_integer(_evaluate(self._listing.name, item, "name"))
        has_name = isinstance(name, str | int | float) and not isinstance(name, bool)
        return Resource(str(found), str(name) if has_name else "")


def _evaluate(expression: Expression, document: object, key: str) -> Any:  # noqa: ANN401
    try:
        return expression.read(document)
    except ExpressionError as error:
        raise WrongShape(f"{key} cannot be read from the list: {error}") from None


def _is_usable(text: str) -> bool:
    """Return whether an id can be used in a path and in a label; 0 is the id of no resource."""
    return len(text) <= LONGEST_ID and text.isprintable() and text == text.strip() and text not in (".", "..", "0")
