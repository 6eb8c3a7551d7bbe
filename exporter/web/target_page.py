"""`/target/{kind}/{id}`: all that is known of one target, also of one that left the platform."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode

from prometheus_client.parser import text_string_to_metric_families
from starlette.exceptions import HTTPException

from exporter.exposition.exposition import Filter, Format
from exporter.exposition.store import HEALTH
from exporter.metric import label_value
from exporter.web.api import Fields, explain
from exporter.web.status import Json, View
from exporter.web.target_query import Pair, QueryError, read_fields

# So many values are shown; /metrics has all.
MOST_VALUES = 200
_HEALTH = frozenset(info.name for info in HEALTH)
# A kind of target → the shipped dashboard about it, and the variable that takes its id.
_DASHBOARDS = {
    "dns_zone": ("edge-zone", "zone"),
    "script": ("edge-scripts", "script"),
    "shield_zone": ("edge-shield", "shield_zone"),
    "database": ("edge-database", "database"),
}

# Selects a part of the exposition that may be served now.
Select = Callable[[Filter, Format], Awaitable[bytes]]


class _Found(NamedTuple):
    """A target: its account or database, label, name, its state with each collector, and when it left the platform."""

    account: str
    label: str
    name: str
    pairs: list[Pair]
    removed: float | None


async def target_values(view: View, select: Select, kind: str, target_id: str, given: Fields) -> Json:
    """Return the values of a target's page.

    Raises:
        HTTPException: there is no such kind or target (404).
        QueryError: a parameter is unknown, or several accounts have the target and none is given.
    """
    found = _find(view, kind, target_id, given)
    values, omitted = _present(await select(Filter(targets=frozenset({found.label})), Format.TEXT), found, target_id)
    absences = explain(view, [("target", found.label)])["absences"]
    return {
        "now": view.clocks.wall(),
        "account": label_value(found.account),
        "target": label_value(found.label),
        "name": label_value(found.name),
        "removed": found.removed,
        "results": [view.target(pair) for pair in found.pairs],
        "values": values,
        "omitted": omitted,
        "absences": [one for one in absences if one["account"] == label_value(found.account)],
        "links": list(_links(view, found, kind, target_id, values)),
    }


def _find(view: View, kind: str, target_id: str, given: Fields) -> _Found:
    label = f"{kind}/{target_id}"
    asked = read_fields(given, ("account",), ("account",)).get("account")
    found: dict[str, _Found] = {}
    for move in view.polling.moves():
        if move.is_gone and _is_named(move.key.label, label):
            found[move.key.account] = _Found(move.key.account, move.key.label, move.name, [], move.at)
    for pair in view.pairs():
        account, key, name = pair[1].target.client_name, pair[0].target, pair[1].target.name
        if _is_named(key.label, label):
            found.setdefault(account, _Found(account, key.label, name, [], None)).pairs.append(pair)
    chosen = [one for account, one in found.items() if asked is None or _is_named(account, asked[0])]
    if not chosen:
        kinds = sorted({kind for collector in view.explainer.collectors() for kind in collector.kinds})
        why = view.explainer.answer(label) if kind in kinds else "there is no such kind"
        raise HTTPException(404, f"{label[:300]!r} is not shown here: {why}; the kinds are: {', '.join(kinds)}")
    if len(chosen) > 1:
        raise QueryError(f"several accounts have {label[:300]!r}; account= chooses one of: {', '.join(found)}")
    return chosen[0]


def _is_named(text: str, given: str) -> bool:
    """Return whether an address means this text, which a link contains as far as it can be shown."""
    return given in (text, label_value(text))


def _present(exposed: bytes, found: _Found, target_id: str) -> tuple[list[Json], int]:
    """Return the values that are served of a target, at most `MOST_VALUES`, and how many more there are."""
    account, own = label_value(found.account), {label_value(target_id), label_value(found.name)}
    values = [
        {
            "name": sample.name,
            "help": family.documentation,
            # Which target it is stands above.
            "labels": {name: value for name, value in sample.labels.items() if name != "account" and value not in own},
            "id_label": next((name for name, value in sample.labels.items() if value == target_id), ""),
            "value": sample.value,
        }
        for family in text_string_to_metric_families(exposed.decode())
        if family.name not in _HEALTH
        for sample in family.samples
        if sample.labels.get("account", account) == account
    ]
    return values[:MOST_VALUES], max(0, len(values) - MOST_VALUES)


def _links(view: View, found: _Found, kind: str, target_id: str, values: Iterable[Json]) -> Iterable[tuple[str, str]]:
    """Return words and addresses: the silences of its alerts, which name it by an id of their own or by its label."""
    account = {} if found.account.startswith("database:") else {"account": found.account}
    process = view.process()
    dashboards, alertmanager = process.dashboard_url, process.alertmanager_url
    if dashboards:
        uid, variable = _DASHBOARDS.get(kind, ("edge-overview", ""))
        chosen = {f"var-{name}": value for name, value in account.items()} | (
            {f"var-{variable}": target_id} if variable else {}
        )
        yield "Dashboard", f"{dashboards}/d/{uid}?{urlencode(chosen, errors='replace')}"
    if alertmanager:
        id_label = next((value["id_label"] for value in values if value["id_label"]), "")
        if id_label:
            yield "Silence its alerts", _silence(alertmanager, {**account, id_label: target_id})
        yield "Silence alerts on its polls", _silence(alertmanager, {**account, "target": found.label})


def _silence(alertmanager: str, labels: Mapping[str, str]) -> str:
    """Return the address of Alertmanager's form for a silence of alerts with these labels."""
    matchers = ",".join(f"{name}={json.dumps(value)}" for name, value in labels.items())
    return f"{alertmanager}/#/silences/new?filter={quote('{' + matchers + '}')}"
