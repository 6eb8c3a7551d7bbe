"""Absences of configured endpoints' families, each with its expected cause."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exporter.collectors.causes import Cause
from exporter.targets.sharding import Shard, owner
from tests.explain.scripted import Situation, after, status, whole

ZONES = "pull_zones"
LIMIT, CHARGES, REQUESTS, INFO, PARTS = FAMILIES = (
    "edge_pull_zone_limit_bytes",
    "edge_pull_zone_charges_dollars_total",
    "edge_pull_zone_requests_total",
    "edge_pull_zone_info",
    "edge_pull_zone_parts",
)
FIRST, SECOND, THIRD = TARGETS = ("pull_zone/501", "pull_zone/502", "pull_zone/503")
LIST: Mapping[str, object] = {"list": "/pullzone", "items": "Items", "id": "Id", "name": "Name"}
METRICS: tuple[Mapping[str, object], ...] = (
    {"name": LIMIT, "help": "Bytes that it may serve.", "value": "Limit"},
    {"name": CHARGES, "help": "Charges.", "month": "MonthlyCharges"},
    {"name": REQUESTS, "help": "Requests.", "days": "Requests"},
    {"name": INFO, "help": "What it is.", "info": {"tier": "Type"}},
    {"name": PARTS, "help": "Parts.", "value": "{a: A, b: B}", "label": "part"},
)
GOOD = {
    "Limit": 7,
    "MonthlyCharges": 1.5,
    "Requests": {"2026-02-07T00:00:00Z": 5, "2026-02-08T00:00:00Z": 6},
    "Type": "edge",
    "A": 1,
    "B": 2,
}
PATH = "/pullzone/[0-9]+"
ITEMS = [{"Id": int(target.partition("/")[2]), "Name": target} for target in TARGETS]
# Zones of which no call but those of the endpoints is made.
ALONE: Mapping[str, object] = {
    "dns_zones": {"discover": False},
    "scripts": {"discover": False},
    "shield_zones": {"discover": False, "rate_limits": False},
}


def endpoint(**keys: object) -> dict[str, object]:
    """Return the endpoint of pull zones; given keys replace its own, and None removes one."""
    own = {
        "name": ZONES,
        "path": "/pullzone/{id}",
        "each": LIST,
        "label": "pull_zone",
        "interval": "5m",
        "metrics": list(METRICS),
        **keys,
    }
    return {key: value for key, value in own.items() if value is not None}


def endpoint_of(kind: str, name: str, path: str) -> dict[str, object]:
    """Return an endpoint with one metric, for a built-in kind of target."""
    return {"name": name, "path": path, "kind": kind, "metrics": [{"name": "edge_x", "value": "X"}]}


def with_endpoints(*endpoints: Mapping[str, object], **settings: Any) -> dict[str, Any]:
    """Return settings of the parts with these endpoints; by default with the one of pull zones."""
    more = {"endpoints": list(endpoints or [endpoint()]), **settings.pop("more", {})}
    return {"account": ALONE, "more": more, **settings}


FIXED = endpoint(each=None, ids=[501, 502, 503])


def answers(code: int = 200, body: object = "", path: str = "/pullzone/501") -> Any:
    """After the first round, give the first zone this answer, and the others good ones."""
    return after(status(path, code, body), status(PATH, body=GOOD))


def configured_scenes(folder: Path) -> list[Situation]:
    """Return every situation.

    Args:
        folder: contains a folder named state.db, which is not a state file.
    """
    return [*_settings(), *_lists(), *_keys(), *_answers(), *_ledger(folder)]


def _settings() -> list[Situation]:
    details = endpoint(
        name="details", each=None, label=None, kind="pull_zone", metrics=[{**METRICS[0], "name": "edge_z"}]
    )
    others = [target for target in TARGETS if owner(f"main/{target}", 3) != 0]
    return [
        Situation(
            "an endpoint that is disabled",
            whole(Cause.COLLECTOR_DISABLED, ZONES, "pull_zone/*"),
            with_endpoints(collectors={ZONES: {"enabled": False}}),
            words=("collectors.pull_zones.enabled is false",),
        ),
        Situation(
            "an endpoint whose targets a disabled endpoint lists",
            whole(Cause.COLLECTOR_DISABLED, "details", "pull_zone/*"),
            with_endpoints(endpoint(), details, collectors={ZONES: {"enabled": False}}),
            words=("collectors.pull_zones.enabled is false",),
        ),
        Situation(
            "a denied family of an endpoint",
            {(ZONES, FIRST): {Cause.DENIED: (LIMIT,)}},
            with_endpoints(more={"series": {"deny": [LIMIT]}}),
            answers(body=GOOD),
        ),
        Situation(
            "a family of an endpoint that is not allowed",
            {(ZONES, FIRST): {Cause.NOT_ALLOWED: (CHARGES, REQUESTS, INFO, PARTS)}},
            with_endpoints(more={"series": {"allow": [LIMIT]}}),
            answers(body=GOOD),
        ),
        Situation(
            "zones of an endpoint that other shards poll",
            whole(Cause.OTHER_SHARD, ZONES, *others),
            with_endpoints(FIXED, shard=Shard(0, 3)),
            words=("polls it; this is 0",),
        ),
        Situation(
            "an endpoint of a kind that the configuration names none of",
            whole(Cause.NOT_CONFIGURED, "lists", "access_list/*"),
            with_endpoints(endpoint_of("access_list", name="lists", path="/lists/{id}")),
            words=("under access_lists",),
        ),
        Situation(
            "an endpoint of zones that a pattern leaves out",
            whole(Cause.FILTERED, "zone_state", "dns_zone/103"),
            with_endpoints(
                endpoint_of("dns_zone", name="zone_state", path="/dnszone/{id}"),
                account={"dns_zones": {"exclude": ["^staging-"]}},
            ),
            words=("its name matches the exclude pattern ^staging-",),
        ),
        Situation(
            "a cap that an endpoint's series would pass",
            {(ZONES, "pull_zone/501"): {Cause.CAPPED: (PARTS,)}},
            with_endpoints(endpoint(each=None, ids=[501]), more={"series": {"max_per_family": 1}}),
            answers(body=GOOD),
        ),
    ]


def _lists() -> list[Situation]:
    def listed(body: object, code: int = 200) -> dict[str, Any]:
        return with_endpoints(fault=status("/pullzone", code, body))

    return [
        Situation(
            "a zone that the endpoint's complete list does not hold",
            whole(Cause.NOT_DISCOVERED, ZONES, "pull_zone/999"),
            with_endpoints(),
            words=("the complete list of account main contains no pull_zone 999",),
        ),
        Situation(
            "an endpoint whose list is empty",
            whole(Cause.NOT_DISCOVERED, ZONES, "pull_zone/*"),
            listed({"Items": []}),
            _settled,
        ),
        Situation(
            "an endpoint whose list fails",
            whole(Cause.DISCOVERY_INCOMPLETE, ZONES, "pull_zone/*"),
            listed("no", 400),
            _settled,
            words=("the list pull_zones_list fails: since", "rejected"),
        ),
        Situation(
            "an endpoint whose list fails after a complete one",
            whole(Cause.DISCOVERY_INCOMPLETE, ZONES, "pull_zone/999"),
            with_endpoints(),
            after(status("/pullzone", 500), turns=900),
            words=("the list pull_zones_list fails: since",),
        ),
        Situation(
            "an endpoint whose list has items that cannot be polled",
            whole(Cause.NOT_DISCOVERED, ZONES, "pull_zone/999"),
            listed({"Items": [*ITEMS, *({"Id": one} for one in (0, 0, ".", "x" * 201))]}),
            _settled,
        ),
        Situation(
            "an endpoint whose list is not there",
            whole(Cause.DISCOVERY_INCOMPLETE, ZONES, "pull_zone/*"),
            listed("", 404),
            _settled,
            words=("not_found",),
        ),
        Situation(
            "an endpoint whose list has no items where they are declared",
            whole(Cause.DISCOVERY_INCOMPLETE, ZONES, "pull_zone/*"),
            listed({"items": ITEMS}),
            _settled,
            words=("the list has no items at Items",),
        ),
        Situation(
            "an endpoint whose list has items without an id",
            whole(Cause.DISCOVERY_INCOMPLETE, ZONES, "pull_zone/999"),
            listed({"Items": [*ITEMS, {"Name": "none"}]}),
            _settled,
            words=("is not complete",),
        ),
        Situation(
            "an endpoint whose first list has not ended",
            whole(Cause.DISCOVERY_INCOMPLETE, ZONES, "pull_zone/*"),
            with_endpoints(
                fault={"kind": "stall", "path": "/pullzone", "point": "start"}, account={**ALONE, "timeout": 100}
            ),
            words=("the first list of pull_zones_list has not ended",),
        ),
    ]


async def _settled(parts: Any) -> None:
    """Wait for the first round."""
    await parts.settle()


def _keys() -> list[Situation]:
    return [
        Situation(
            "a key that is refused where an endpoint's list is asked",
            whole(Cause.KEY_REFUSED, ZONES, "pull_zone/*"),
            with_endpoints(account={**ALONE, "api_key": "wrong"}),
            words=("unauthorized",),
        ),
        Situation(
            "a key that may not read an endpoint's list",
            whole(Cause.KEY_FORBIDDEN, ZONES, "pull_zone/*"),
            with_endpoints(account={}, fault=status("/pullzone", 401)),
            _settled,
            words=("the key is accepted for other calls",),
        ),
        Situation(
            "a key that is refused where an endpoint is asked",
            whole(Cause.KEY_REFUSED, ZONES, *TARGETS),
            with_endpoints(FIXED, account={**ALONE, "api_key": "wrong"}),
        ),
        Situation(
            "a key that may not read one target of an endpoint",
            whole(Cause.KEY_FORBIDDEN, ZONES, FIRST) | {(ZONES, SECOND): {}},
            with_endpoints(fault=status("/pullzone/501", 401)),
            after(status(PATH, body=GOOD)),
            words=("the key is accepted for other calls",),
        ),
        Situation(
            "a target of an endpoint that the platform forbids",
            whole(Cause.KEY_FORBIDDEN, ZONES, FIRST) | {(ZONES, SECOND): {}},
            with_endpoints(fault=status("/pullzone/501", 403)),
            after(status(PATH, body=GOOD)),
        ),
    ]


def _answers() -> list[Situation]:
    def first(name: str, cause: Cause, code: int = 200, body: object = "", *words: str) -> Situation:
        """Give one target a wrong first answer, and the others good ones."""
        return Situation(
            name,
            whole(cause, ZONES, FIRST) | {(ZONES, SECOND): {}},
            with_endpoints(fault=status("/pullzone/501", code, body)),
            after(status(PATH, body=GOOD)),
            words=words,
        )

    def lacking(name: str, body: Mapping[str, object], *families: str, words: tuple[str, ...]) -> Situation:
        return Situation(
            name, {(ZONES, FIRST): {Cause.NO_VALUE: families}}, with_endpoints(), answers(body=body), words
        )

    without = {key: value for key, value in GOOD.items() if key not in ("Limit", "Type")}
    nulls = {**GOOD, "Limit": None, "Type": None, "A": None, "B": None}
    return [
        first("a target of an endpoint that answers 404", Cause.FAILING, 404, "", "not_found", "no success yet"),
        first("an endpoint that answers no JSON", Cause.FAILING, 200, "<html>", "not_json"),
        first(
            "an endpoint whose value is of a wrong type",
            Cause.FAILING,
            200,
            {**GOOD, "Limit": "7"},
            "wrong_shape",
            LIMIT,
        ),
        first("an endpoint whose chart is of a wrong type", Cause.FAILING, 200, {**GOOD, "Requests": 5}, REQUESTS),
        first("a value that no number can hold", Cause.OUT_OF_RANGE, 200, {**GOOD, "Limit": 10**400}, LIMIT),
        first("a month's value below 0", Cause.OUT_OF_RANGE, 200, {**GOOD, "MonthlyCharges": -1}, CHARGES),
        first("a month's value above 64 bits", Cause.OUT_OF_RANGE, 200, {**GOOD, "MonthlyCharges": 2**70}, CHARGES),
        first(
            "a day's count that no number can hold",
            Cause.OUT_OF_RANGE,
            200,
            {**GOOD, "Requests": {"2026-02-08": 10**400}},
        ),
        lacking("an endpoint's fields that are left out", without, LIMIT, INFO, words=("Limit:", "Type:")),
        lacking("an endpoint's fields that are null", nulls, LIMIT, INFO, PARTS, words=("{a: A, b: B}:",)),
        Situation(
            "a target of an endpoint that was never polled",
            whole(Cause.FIRST_POLL, ZONES, FIRST),
            with_endpoints(
                endpoint(each=None, ids=[501]),
                account={**ALONE, "timeout": 100},
                fault={"kind": "stall", "path_regex": "/pullzone/.*", "point": "start"},
            ),
            words=("due at 2026-02-08 12:",),
        ),
        Situation(
            "an endpoint whose series were removed",
            whole(Cause.STALE, ZONES, FIRST),
            with_endpoints(fault=status(PATH, body=GOOD)),
            _withdrawn,
            words=("server_error", "series withdrawn at"),
        ),
        Situation(
            "an endpoint that is asked once an account, and is not there",
            whole(Cause.FAILING, "usage", "account/main"),
            with_endpoints({"name": "usage", "path": "/usage", "metrics": [{"name": "edge_x", "value": "X"}]}),
            words=("not_found",),
        ),
    ]


async def _withdrawn(parts: Any) -> None:
    """Run a good first round, then failures until the series are removed."""
    await parts.settle()
    parts.faults.clear()
    parts.faults.add(status(PATH, 500))
    await parts.turn(4000)


def _ledger(folder: Path) -> list[Situation]:
    return [
        Situation(
            "an endpoint's counters whose ledger cannot write",
            {(ZONES, FIRST): {Cause.LEDGER: (CHARGES, REQUESTS)}},
            with_endpoints(fault=status(PATH, body=GOOD), state=folder / "state.db"),
            _settled,
            words=("writing", "fails: "),
        )
    ]
