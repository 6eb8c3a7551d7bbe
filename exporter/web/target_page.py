"""`/target/{kind}/{id}`: all that is known of one target, also of one that left the platform."""

import json
from collections.abc import Iterator, Mapping
from urllib.parse import quote, urlencode

from prometheus_client.parser import text_string_to_metric_families
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from exporter.exposition.exposition import Filter, Format
from exporter.exposition.store import HEALTH
from exporter.label_values import label_value
from exporter.targets.target import DATABASE_PREFIX, TargetKey
from exporter.web.api import absences
from exporter.web.metrics import MetricsEndpoint
from exporter.web.parts import Parts
from exporter.web.targets import all_targets, target_values
from exporter.web.url_fields import Json, read_fields

# So many values are shown; /metrics has all.
MOST_VALUES = 200
_HEALTH = frozenset(info.name for info in HEALTH)
# A kind of target → the label with its id in what is said of it, its shipped dashboard, and the variable for the id.
_KINDS = {
    "dns_zone": ("zone_id", "edge-zone", "zone"),
    "script": ("script_id", "edge-scripts", "script"),
    "shield_zone": ("shield_zone_id", "edge-shield", "shield_zone"),
    "rate_limit": ("rate_limit_id", "edge-shield", ""),
    "access_list": ("access_list_id", "edge-shield", ""),
    "waf_custom_rule": ("rule_id", "edge-shield", ""),
    "database": ("database", "edge-database", "database"),
    "query": ("", "edge-database", ""),
}


async def target_page(parts: Parts, kind: str, target_id: str, query: QueryParams) -> Json:
    """Return what the page of a target shows.

    Raises:
        HTTPException: there is no such kind or target (404), a parameter is unknown, or several accounts have the
            target and none is given (400).
    """
    label = f"{kind}/{target_id}"
    asked = read_fields(query, {"account": None})["account"]
    named = [one for one in all_targets(parts) if one.target.key.label == label]
    known = {one.target.client_name: (one.target.key, one.target.name) for one in named}
    gone = {move.key.account: move for move in parts.registry.moves() if move.is_gone and move.key.label == label}
    known |= {account: (move.key, move.name) for account, move in gone.items()}
    chosen = [account for account in known if not asked or account in asked]
    if not chosen:
        kinds = sorted({kind for collector in parts.explainer.collectors() for kind in collector.kinds})
        why = parts.process().spare or parts.explainer.answer(label) if kind in kinds else "there is no such kind"
        raise HTTPException(404, f"{label[:300]!r} is not shown here: {why}; the kinds are: {', '.join(kinds)}")
    if len(chosen) > 1:
        raise HTTPException(400, f"several accounts have {label[:300]!r}; account= chooses one of: {', '.join(known)}")
    account = chosen[0]
    key, name = known[account]
    exposed = await MetricsEndpoint(parts).select(Filter(targets=frozenset({key.label})), Format.TEXT)
    values = list(_values(exposed, key.account, {key.id, name}))
    absent = absences(parts, (), [key.label])["absences"]
    return {
        "now": parts.clocks.wall(),
        "account": account,
        "target": key.label,
        "name": name,
        "removed": gone[account].at if account in gone else None,
        "results": [target_values(parts, one) for one in named if one.target.key == key],
        "values": values[:MOST_VALUES],
        "omitted": max(0, len(values) - MOST_VALUES),
        "absences": [one for one in absent if one["account"] == account],
        "links": list(_links(parts, account, key)),
    }


def _values(exposed: bytes, account: str, said: set[str]) -> Iterator[Json]:
    """Yield the values of a target that are served, without the labels that identify the target."""
    shown = label_value(account)
    for family in text_string_to_metric_families(exposed.decode()):
        for sample in family.samples:
            if family.name not in _HEALTH and sample.labels.get("account", shown) == shown:
                labels = {name: own for name, own in sample.labels.items() if name != "account" and own not in said}
                yield {
                    "name": sample.name,
                    "help": family.documentation,
                    "labels": labels,
                    "value": sample.value,
                }


def _links(parts: Parts, account: str, key: TargetKey) -> Iterator[tuple[str, str]]:
    """Yield the words and addresses of a dashboard, and of silences: alerts name a target by its id or by its label."""
    process, (id_label, dashboard, variable) = parts.process(), _KINDS.get(key.kind, ("", "edge-overview", ""))
    whose = {} if account.startswith(DATABASE_PREFIX) else {"account": account}
    if process.dashboard_url:
        chosen = whose | ({variable: key.id} if variable else {})
        query = urlencode({f"var-{name}": value for name, value in chosen.items()}, errors="replace")
        yield "Dashboard", f"{process.dashboard_url}/d/{dashboard}?{query}"
    if process.alertmanager_url:
        if id_label:
            yield "Silence its alerts", _silence(process.alertmanager_url, {**whose, id_label: key.id})
        yield "Silence alerts on its polls", _silence(process.alertmanager_url, {**whose, "target": key.label})


def _silence(alertmanager: str, labels: Mapping[str, str]) -> str:
    """Return the address of Alertmanager's form for a silence of alerts with these labels."""
    matchers = ",".join(f"{name}={json.dumps(value)}" for name, value in labels.items())
    return f"{alertmanager}/#/silences/new?filter={quote('{' + matchers + '}')}"
