"""The operations on DNS zones."""

from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import payload, raw_payload, script_error
from exporter.sandbox.auth import Access
from exporter.sandbox.operation import ErrorStyle, Operation
from exporter.sandbox.request_parsing import BadQueryError, path_id, query_date_time
from exporter.sandbox.world import World

_DATE_TIME: Final = {"type": ["string", "null"], "format": "date-time"}


def _failure(status: int, detail: str, _request: Request) -> Response:
    if status == HTTPStatus.UNAUTHORIZED:
        return payload({"Message": "Authorization has been denied for this request."}, status)
    return script_error(status, "request.invalid", None, detail)


_ERRORS: Final = ErrorStyle("ScriptError", "CoreError", _failure)


def _unknown_zone() -> Response:
    return script_error(404, "dnsZone.not_found", "DnsZone", "The requested DNS zone was not found.")


async def _statistics(world: World, request: Request) -> Response:
    zone_id = path_id(request, "id")
    date_from = query_date_time(request, "dateFrom")
    date_to = query_date_time(request, "dateTo")
    if date_from is not None and date_to is not None and date_from > date_to:
        raise BadQueryError("dateFrom is later than dateTo")
    if zone_id is None or zone_id not in world.dns.zones:
        return _unknown_zone()
    return raw_payload(world.dns.statistics(zone_id, date_from, date_to))


async def _scan(world: World, request: Request) -> Response:
    zone_id = path_id(request, "zoneId")
    if zone_id is None or zone_id not in world.dns.zones:
        return _unknown_zone()
    scan = world.scans.answer(zone_id)
    if scan is None:
        return script_error(404, "dnsZone.recordScan.not_found", "DnsZone", "The DNS zone was never scanned.")
    return payload(scan)


OPERATIONS: Final = (
    Operation(
        name="dns_statistics",
        method="GET",
        path="/dnszone/{id}/statistics",
        handler=_statistics,
        access=Access.STATISTICS,
        errors=_ERRORS,
        result="DnsZoneStatistics",
        summary="Query statistics of a DNS zone",
        query={"dateFrom": _DATE_TIME, "dateTo": _DATE_TIME},
        failures=(404,),
    ),
    Operation(
        name="dns_record_scan",
        method="GET",
        path="/dnszone/{zoneId}/records/scan",
        handler=_scan,
        access=Access.ACCESS_KEY,
        errors=_ERRORS,
        result="DnsRecordScanJob",
        summary="The latest record scan of a DNS zone",
        failures=(404,),
    ),
)
