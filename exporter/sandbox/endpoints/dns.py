"""The operations on DNS zones."""

from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import payload, script_error
from exporter.sandbox.operation import Access, ErrorStyle, Refusal, operation
from exporter.sandbox.request_parsing import RequestError, int64, query_date_time
from exporter.sandbox.world import World

_DATE_TIME: Final = {"type": ["string", "null"], "format": "date-time"}


def _failure(error: RequestError, _request: Request) -> Response:
    if error.status == HTTPStatus.UNAUTHORIZED:
        return payload({"Message": "Authorization has been denied for this request."}, error.status)
    return script_error(error.status, "request.invalid", None, str(error))


_ERRORS: Final = ErrorStyle("ScriptError", "CoreError", _failure)


def _zone_id(world: World, text: str) -> int:
    zone_id = int64(text)
    if zone_id is None or zone_id not in world.dns.zones:
        raise Refusal(script_error(404, "dnsZone.not_found", "DnsZone", "The requested DNS zone was not found."))
    return zone_id


@operation(
    "GET",
    "/dnszone/{id}/statistics",
    access=Access.STATISTICS,
    errors=_ERRORS,
    result="DnsZoneStatistics",
    query={"dateFrom": _DATE_TIME, "dateTo": _DATE_TIME},
    failures=(404,),
)
async def dns_statistics(world: World, request: Request) -> Response:
    """Return the query statistics of a DNS zone."""
    date_from = query_date_time(request, "dateFrom")
    date_to = query_date_time(request, "dateTo")
    if date_from is not None and date_to is not None and date_from > date_to:
        raise RequestError("dateFrom is later than dateTo")
    return payload(world.dns.statistics(_zone_id(world, request.path_params["id"]), date_from, date_to))


@operation(
    "GET",
    "/dnszone/{zoneId}/records/scan",
    access=Access.ACCESS_KEY,
    errors=_ERRORS,
    result="DnsRecordScanJob",
    failures=(404,),
)
async def dns_record_scan(world: World, request: Request) -> Response:
    """Return the latest record scan of a DNS zone."""
    scan = world.scans.answer(_zone_id(world, request.path_params["zoneId"]))
    if scan is None:
        return script_error(404, "dnsZone.recordScan.not_found", "DnsZone", "The DNS zone was never scanned.")
    return payload(scan)


OPERATIONS: Final = (dns_statistics, dns_record_scan)
