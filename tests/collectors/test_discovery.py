"""What discovery asks for, and what it finds: `expositions/discoveries.txt` has the result of each case."""

import json
from dataclasses import replace

from exporter.collectors.discovery import COLLECTOR, NAMES, RATE_LIMITS, SEARCH, SHIELD_ZONES
from exporter.platform import errors
from exporter.targets.registry import Registry
from exporter.targets.selection import Selection
from exporter.targets.sharding import Shard
from exporter.targets.target import Inventory, Resource, ResourceList, Target, TargetKey
from exporter.untrusted.patterns import Pattern
from tests.collectors.polls import EXPOSITIONS, Body, context_of, told
from tests.golden import assert_golden
from tests.platform.callers import ScriptedCaller

FOUND = json.dumps({
    "Total": 6,
    "SearchResults": [
        {"Type": "dns", "Id": 102, "Name": "example.com"},
        {"Type": "dns", "Id": 103, "Name": None},
        {"Type": "cdn", "Id": 9, "Name": "shop"},
        {"Type": "script", "Id": 7, "Name": "router"},
        {"Type": "storage", "Id": 7, "Name": "files"},
        {"Type": "a new kind", "Id": 7, "Name": "?"},
    ],
})  # fmt: skip
PAGE = '{"Total": 2, "SearchResults": [{"Type": "dns", "Id": 102, "Name": "example.com"}]}'
HOSTILE = json.dumps({"Total": 1, "SearchResults": [{"Type": 'x"} 1\ny{a="\\\ud800\0', "Id": 1}]})
EMPTY = '{"Total": 0, "SearchResults": []}'
BROKEN_ZONE = '{"data": [{"shieldZoneId": 3, "planType": {}}], "page": {"totalCount": 1}}'
BROKEN_LIMIT = '{"data": [{"ratelimitId": 55, "overview": 7}, {"ratelimitId": 56}], "error": null}'
NO_ID = '{"data": [{"ratelimitId": "x"}, {"ratelimitId": true}, {"ratelimitId": 56}], "error": null}'
BOTH, LIMITS = (SEARCH, SHIELD_ZONES), (SHIELD_ZONES, RATE_LIMITS)


def account(*watched: str) -> Target:
    return Target("main", "account", "main", "main", watched=watched)


def zones(*ids: int, total: int | None = None) -> str:
    data = [{"shieldZoneId": one, "pullZoneId": one * 3} for one in ids]
    return json.dumps({"data": data, "page": {"totalCount": len(ids) if total is None else total}})


def limits(*ids: int | None) -> str:
    return json.dumps({"data": [{"ratelimitId": one} for one in ids], "error": None})


FAULT = errors.ServerError("the platform answered 500", status=500)
LIMITED, NO_PLAN = errors.RateLimited("429", status=429), errors.NotAvailable("no", status=202)
# What an account is searched for, and the answers.
CASES: dict[str, tuple[tuple[str, ...], list[Body]]] = {
    "what an account has": ((SEARCH,), [FOUND]),
    "a hostile type": ((SEARCH,), [HOSTILE]),
    "an account without resources has whole lists of none": ((SEARCH,), [EMPTY]),
    "shield zones go by their pull zones' names": (BOTH, [FOUND, zones(3, 4)]),
    "a short list is incomplete": ((SHIELD_ZONES,), [zones(3, total=2), zones(total=2)]),
    "a shield zone that cannot be read is known all the same": ((SHIELD_ZONES,), [BROKEN_ZONE]),
    "rate limits are found zone by zone": (LIMITS, [zones(3, 4), limits(55, 56, 0, None), limits(57)]),
    "a rate limit that cannot be read is known all the same": (LIMITS, [zones(3), BROKEN_LIMIT]),
    "a rate limit without a readable id makes the list incomplete": (LIMITS, [zones(3), NO_ID]),
    "so does a short list of zones": (LIMITS, [zones(3, total=2), zones(total=2), limits(55)]),
    "a platform without that listing is asked once": (LIMITS, [zones(3, 4), None]),
    "a zone that went meanwhile has no rate limits": (LIMITS, [zones(3, 4, 5), limits(55), None, limits(57)]),
    "a plan without rate limits is passed over": (LIMITS, [zones(3, 4), NO_PLAN, limits(57)]),
    **{
        f"a zone that fails hides no other, {fault.reason}": (LIMITS, [zones(3, 4), fault, limits(57)])
        for fault in (FAULT, errors.Forbidden("403", status=403), errors.EnvelopeError("no", status=202))
    },
    **{
        f"what fails every call ends the attempt, {fault.reason}": (LIMITS, [zones(3, 4, 5), limits(55), fault])
        for fault in (errors.Refused("no"), LIMITED, errors.Unauthorized("401", status=401))
    },
    "a search that fails further in hides nothing that it found": ((SEARCH,), [PAGE, FAULT]),
    "the resources of an incomplete search are not counted": ((SEARCH,), [PAGE, PAGE]),
    "a search that fails spoils no other list": (BOTH, [FAULT, zones(3)]),
    "a list of zones that fails spoils no other": (BOTH, [FOUND, FAULT]),
    "of two failures the first is told": (BOTH, [FAULT, LIMITED]),
    "a plan without shield has an incomplete list": (BOTH, [FOUND, NO_PLAN]),
    "a plan without search spoils nothing": (BOTH, [NO_PLAN, zones(3)]),
    "names of configured ids alone": ((NAMES,), [FOUND]),
    "names of shield zones, too": ((NAMES, "shield_zone"), [FOUND, zones(3)]),
    "names, and zones that are listed": ((NAMES, "shield_zone", *LIMITS), [FOUND, zones(3), limits(55)]),
    "names that could not be looked up": ((NAMES, "shield_zone", *LIMITS), [FAULT, zones(3), limits(55)]),
    "names that could not be looked up, for which no zones are listed": ((NAMES, "shield_zone"), [FAULT, zones(3)]),
    "names, and zones that could not be listed": ((NAMES, "shield_zone"), [FOUND, FAULT]),
}


async def test_answers_give_what_is_found() -> None:
    polls = [f"### {words}\n{await told(COLLECTOR, said, account(*asks))}" for words, (asks, said) in CASES.items()]
    assert_golden("".join(polls), EXPOSITIONS / "discoveries.txt")


async def test_the_rate_limits_of_other_shards_zones_and_of_those_that_are_left_out_are_not_listed() -> None:
    caller, asks = ScriptedCaller([FOUND, zones(*range(3, 20)), limits()]), account(*BOTH, RATE_LIMITS)
    keys = [TargetKey.of("main", "shield_zone", str(number)) for number in range(3, 20)]
    # That of zone 3, which has the name of pull zone 9.
    shard = Shard(Shard(0, 2).owner_of(keys[0]), 2)
    context = replace(context_of(caller, asks), registry=Registry(shard, lambda: 0.0))
    left_out = (Pattern("^shop$"),)
    context.registry.configure([Selection("main", "shield_zone", discover=True, exclude=left_out)])
    await COLLECTOR.poll(context, asks)
    asked = [arguments["shieldZoneId"] for _, arguments in caller.calls if "shieldZoneId" in arguments]
    assert asked == [int(key.id) for key in keys[1:] if shard.owner_of(key) == shard.index]


async def test_scripts_of_other_shards_are_read_once_for_their_host_names_until_no_call_may_succeed() -> None:
    caller = ScriptedCaller([FAULT, '{"DefaultHostname": "a.example"}', errors.NotFound("404", status=404), LIMITED])
    context = replace(context_of(caller, account()), registry=Registry(Shard(0, 2), lambda: 0.0))
    context.registry.configure([Selection("main", "script", discover=True)])
    listed = ResourceList(tuple(Resource(str(number)) for number in range(20)), complete=True)
    context.registry.apply("main", Inventory({"script": listed}))
    failing, first, gone, *others = context.registry.unread_scripts("main")
    await COLLECTOR.poll(context, account())
    assert len(caller.calls) == 4
    assert context.registry.unread_scripts("main") == [failing, *others]
    facts = {one.key.id: one.facts for one in context.registry.selected("main", "script") if one.facts is not None}
    assert facts == {first.id: {"default_hostname": "a.example"}, gone.id: {}}
