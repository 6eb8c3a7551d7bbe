"""`/target/{kind}/{id}`: the page of one target, which may have left the platform recently."""

from collections.abc import Collection, Sequence
from urllib.parse import urlencode

from prometheus_client.parser import text_string_to_metric_families
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from exporter.exposition.exposition import Filter, Format
from exporter.targets.target import TargetKey
from exporter.web.absences import absences
from exporter.web.metrics_endpoint import MetricsEndpoint
from exporter.web.parts import Parts
from exporter.web.target_statuses import all_statuses, target_values
from exporter.web.url_fields import Json, read_fields

# Kind of a target → the shipped dashboard, and the dashboard's variable for the target's id; empty without a variable.
_DASHBOARDS = {
    "dns_zone": ("edge-zone", "zone"),
    "script": ("edge-scripts", "script"),
    "shield_zone": ("edge-shield", "shield_zone"),
    "rate_limit": ("edge-shield", ""),
    "access_list": ("edge-shield", ""),
    "waf_custom_rule": ("edge-shield", ""),
    "database": ("edge-database", "database"),
    "query": ("edge-database", ""),
}
_MOST_QUOTED = 300


async def target_page(parts: Parts, label: str, query: QueryParams) -> Json:
    """Return the values for the page of a target; `label` is the target's kind and id, such as `dns_zone/102`.

    Raises:
        HTTPException: the target is unknown, or not in an account that the query names (404); a parameter is unknown,
            or more than one account fits (400).
    """
    asked = read_fields(query, {"account": None})["account"]
    polled = [one for one in all_statuses(parts) if one.target.key.label == label]
    removals = {one.key.account: one for one in parts.registry.removals() if one.key.label == label}
    # Account or database → the key and the name of the target with this label.
    known = {one.target.client_name: (one.target.key, one.target.name) for one in polled}
    known |= {account: (one.key, one.name) for account, one in removals.items()}
    explained = await absences(parts, (), [label])
    if not known:
        raise HTTPException(404, _why_unknown(parts, label, explained))
    account = _choose_account(label, sorted(known), asked)
    key, name = known[account]
    results = sorted((one for one in polled if one.target.key == key), key=lambda one: one.collector)
    grafana = parts.process().dashboard_url
    return {
        "now": parts.clocks.wall(),
        "account": account,
        "target": label,
        "id": key.id,
        "name": name,
        "removed": removals[account].at if account in removals else None,
        "results": [target_values(parts, one) for one in results],
        "values": await _present_values(parts, key),
        "absences": [one for one in explained["absences"] if one["account"] == account],
        "dashboard": _dashboard_url(grafana, key) if grafana else "",
    }


def _why_unknown(parts: Parts, label: str, explained: Json) -> str:
    """Return in words why no target with this label is shown; `explained` is the result of `absences` for the label."""
    kinds = parts.explainer.kinds()
    kind, _, _ = label.partition("/")
    if kind not in kinds:
        # The name of a target is refused here, although `explained` may have an answer for the name.
        why = "expected a known kind and an id, as in dns_zone/102"
    elif label in explained["others"]:
        why = explained["others"][label]
    else:
        # The target has absences, although it is not polled: for example, the configuration leaves it out.
        why = explained["absences"][0]["text"]
    return f"{label[:_MOST_QUOTED]!r} is not shown here: {why}; the kinds are: {', '.join(kinds)}"


def _choose_account(label: str, holders: Sequence[str], asked: Collection[str]) -> str:
    """Return the one account of `holders` that `asked` names (empty: all); raises HTTPException for none or several."""
    chosen = [account for account in holders if not asked or account in asked]
    shown = repr(label[:_MOST_QUOTED])
    if not chosen:
        raise HTTPException(404, f"no given account has {shown}; these accounts have it: {', '.join(holders)}")
    if len(chosen) > 1:
        raise HTTPException(400, f"several accounts have {shown}; account= chooses one of: {', '.join(chosen)}")
    return chosen[0]


async def _present_values(parts: Parts, key: TargetKey) -> list[Json]:
    exposed = await MetricsEndpoint(parts).select(Filter(targets=frozenset({key.label})), Format.TEXT)
    return [
        {"name": sample.name, "help": family.documentation, "labels": sample.labels, "value": sample.value}
        for family in text_string_to_metric_families(exposed.decode())
        for sample in family.samples
        if sample.labels.get("account", key.account) == key.account
    ]


def _dashboard_url(grafana: str, key: TargetKey) -> str:
    dashboard, variable = _DASHBOARDS.get(key.kind, ("edge-overview", ""))
    # Databases and queries belong to no account.
    chosen = {"var-account": key.account} if key.account else {}
    if variable:
        chosen[f"var-{variable}"] = key.id
    return f"{grafana}/d/{dashboard}?{urlencode(chosen)}"
