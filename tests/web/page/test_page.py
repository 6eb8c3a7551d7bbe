"""The pages and the API: whole answers as golden files, and what a set-up or a query changes in them."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from exporter.assets.shipped import REPOSITORY
from exporter.collectors import dns_statistics
from exporter.collectors.collector import Outcome
from exporter.collectors.discovery import NAMES
from exporter.label_values import label_value
from exporter.metric import Family, Sample
from exporter.targets.selection import Selection
from exporter.targets.sharding import Shard
from exporter.targets.target import Inventory, Resource, ResourceList, Target
from exporter.web.page.page import plain, untrusted
from exporter.web.parts import Round
from tests.exporter_parts import START
from tests.golden import assert_golden
from tests.web.rendered import HOSTILE, Page
from tests.web.view_setup import SCANS, STATISTICS, ViewSetup, endpoints_client, view_setup, zone

QUERIES = next(info for info in dns_statistics.COLLECTOR.families if info.name == "edge_dns_window_queries")
GOLDENS = Path(__file__).parent / "pages"
# Names are looked up, and no targets.
NAMING = Selection("main", "account", (Target("main", "account", "main", watched=(NAMES,)),))
# The absences of some families, whatever others the catalogue has.
FAMILIES = "family=edge_dns_queries_total&family=edge_dns_window_queries&family=edge_dns_record_scan_found"


async def shown(setup: ViewSetup, path: str = "/") -> Page:
    async with endpoints_client(setup) as client:
        answer = await client.get(path)
    assert answer.status_code == 200
    return Page(answer.text)


def stale(setup: ViewSetup, number: int) -> ViewSetup:
    """Set up zones that served once, and whose series are gone."""
    for one in range(number):
        setup.succeed(zone(one), chart=[1, 2, 3])
    setup.turn(61)
    setup.schedule.last_tick = setup.clock()
    setup.store.expire()
    for one in range(number):
        setup.fail(zone(one))
    return setup


def awaited(setup: ViewSetup) -> ViewSetup:
    """Set up a zone that two collectors have not polled yet."""
    setup.registry.configure([Selection("main", "dns_zone", (zone(104),))])
    return setup


def refused(setup: ViewSetup) -> None:
    """Set up an account whose key the platform refuses."""
    setup.up["main"] = False
    setup.schedule.accounts["main"].client.credential.refuse("wrong")
    setup.fail(zone(1), reason="unauthorized")


def busy(setup: ViewSetup) -> None:
    """Set up each state of a target, and each notice."""
    setup.registry.configure([Selection("main", "dns_zone", (zone(101), zone(102), zone(104, "waits.example")))])
    stale(setup, 1)
    setup.succeed(zone(101, "shop.example"), chart=[1000] * 30 + [500], took=0.25)
    setup.turn(12)
    setup.fail(zone(102, "<b>"), message="the platform answered 500")
    setup.turn(5)
    setup.fail(zone(9, "nine", "other"), message="the platform answered 500")
    for one in (zone(102, "<b>"), zone(101, "shop.example")):
        setup.fail(one, SCANS, message="the platform answered 500")
        setup.turn(1)
    for left, collector in ((30, STATISTICS), (29, SCANS)):
        message = f"the account is paused for another {left} s after a 429"
        setup.fail(zone(left, account="other"), collector, reason="rate_limited", message=message)
        setup.turn(1)
    setup.succeed(Target("main", "image", "a/b"), "container_tags", note="not available", took=0.0002)
    setup.schedule.durations |= {STATISTICS: 0.0002, SCANS: 0.012}
    setup.schedule.due = {STATISTICS: setup.clock() + 7, SCANS: setup.clock() - 7}
    setup.schedule.stretch = 3.0
    setup.schedule.last_tick = setup.clock()
    setup.faults = ("config.yml:3: no such key",)
    setup.ledger_fault, setup.set_aside = "disk <b>full", START - 60
    setup.schedule.accounts["main"].pace.demand = 20.0
    setup.up["other"] = False


def linked(setup: ViewSetup) -> None:
    """Set up a zone with values, a chart, a failing collector, and a Grafana."""
    busy(setup)
    setup.dashboard_url = "https://grafana.example/edge"
    labels = ("main", "102", "<b>")
    family = Family(QUERIES, (Sample(labels, 12345.0),))
    outcome = Outcome(zone(102, "<b>"), (family,), chart=(0.0, 900.0, 1800.0, 400.0))
    setup.store.publish(STATISTICS, outcome, duration=0.1)
    setup.turn(30)
    # The values of another account's zone with this id are not shown on its page.
    family = Family(QUERIES, (Sample(("other", "102", ""), 1.0),))
    setup.store.publish(STATISTICS, Outcome(zone(102, account="other"), (family,)), duration=0.1)
    setup.fail(zone(102, account="other"))


def removed(setup: ViewSetup) -> None:
    """Set up a script that left the platform an hour ago, beside one that is new."""
    setup.registry.configure([Selection("main", "script", discover=True)])
    for listed in ("67", "68", "68"):
        found = ResourceList(tuple(Resource(number, f"<i>{number}") for number in listed), complete=True)
        setup.registry.apply("main", Inventory({"script": found}))
    setup.turn(3600)


@pytest.mark.parametrize(
    ("name", "path", "set_up"),
    [
        ("busy", "/", busy),
        ("target", "/target/dns_zone/102?account=main", linked),
        ("stale_target", "/target/dns_zone/0?account=main", lambda setup: stale(setup, 1)),
        ("removed_target", "/target/script/7", removed),
        ("absences", f"/explain?target=dns_zone/102&target=waits.example&target=nothing&{FAMILIES}", busy),
    ],
)
async def test_what_a_page_says(name: str, path: str, set_up: Callable[[ViewSetup], object]) -> None:
    async with view_setup("main", "other") as setup:
        setup.schedule.plans = {name: setup.schedule.plans[name] for name in (STATISTICS, SCANS)}
        set_up(setup)
        page = await shown(setup, path)
    assert {name for _, own in page.tags for name in own if name.startswith("on") or name == "style"} == set()
    assert page.having("style") == []
    assert [script["src"] for script in page.having("script")] in ([], ["static/page.js"])
    places = {own[name] for _, own in page.tags for name in ("src", "href", "action") if name in own}
    own = (REPOSITORY, "https://grafana.example/edge/d/")
    assert [place for place in places if re.match(r"/|[a-z]+:", place) and not place.startswith(own)] == []
    assert {own.get("scope") for own in page.having("th")} <= {"col", "row"}
    ids = [own["id"] for _, own in page.tags if "id" in own]
    assert len(ids) == len(set(ids))
    assert {own["aria-labelledby"] for _, own in page.tags if "aria-labelledby" in own} <= set(ids)
    assert {own["for"] for own in page.having("label")} <= set(ids)
    assert_golden(page.lines, GOLDENS / f"{name}.txt")


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("status", "status"),
        ("targets", "targets"),
        ("explain", f"explain?{FAMILIES}&target=dns_zone/101&target=dns_zone/102&target=nothing"),
    ],
)
async def test_a_whole_answer_of_the_api(name: str, path: str) -> None:
    async with view_setup("main", "other") as setup:
        setup.schedule.plans = {name: setup.schedule.plans[name] for name in (STATISTICS, SCANS)}
        busy(setup)
        async with endpoints_client(setup) as client:
            answer = await client.get(f"/api/v1/{path}")
    assert answer.headers["content-type"] == "application/json"
    # A line for each account, target and so on.
    assert_golden(re.sub(" ?{", "\n{", json.dumps(answer.json())) + "\n", GOLDENS / f"{name}.json")


async def test_a_page_shows_one_target_or_says_why_it_shows_none() -> None:
    async with view_setup("main", "other") as setup, endpoints_client(setup) as client:
        setup.schedule.plans = {}
        setup.registry.configure([Selection("main", "dns_zone", (zone(8, "named"),))])
        for account in ("main", "other"):
            setup.fail(zone(7, account=account))
        paths = [f"target/dns_zone/{label}" for label in ("7", "7?account=third", "8", "9")]
        more = ("target/named", "metrics?collect[]=scripts")
        answers = [await client.get(f"/{path}") for path in (*paths, *more)]
    assert_golden("".join(f"{one.status_code} {one.text}" for one in answers), GOLDENS / "refusals.txt")


TARGET = "/target/{}?account={}"


@pytest.mark.parametrize("path", ["/", "/explain", TARGET])
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
async def test_text_from_the_platform_is_never_markup(hostile: str, path: str) -> None:
    async with view_setup(label_value(hostile)) as setup:
        setup.up[label_value(hostile)] = False
        setup.faults = (hostile,)
        account, image = label_value(hostile), " ".join(label_value(hostile).splitlines())
        calm, loud = zone(1, "calm", account), Target(account, "image", image, hostile)
        setup.fail(calm, message="calm")
        setup.succeed(loud, "container_tags", note="calm" if path == TARGET else hostile)
        path = path.format(quote(loud.key.label), quote(account))
        usual = await shown(setup, path)
        setup.fail(calm, message=hostile, reason=hostile)
        setup.succeed(loud, "container_tags", note=hostile)
        page = await shown(setup, path)
    assert {tag for tag, _ in page.tags} - {"wbr", "details", "summary", "br"} <= {tag for tag, _ in usual.tags}
    assert len(page.having("img")) == 1
    assert {name for _, own in page.tags for name in own} == {name for _, own in usual.tags for name in own}
    assert re.search("[\0-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page.html) is None
    assert max(len(line) for line in page.texts) <= 300 + len(" · edge-exporter")


def test_a_hostile_name_is_shown_as_far_as_it_can_be() -> None:
    assert [untrusted("x" * most) for most in (300, 301)] == [f"<bdi>{'x' * 300}</bdi>", f"<bdi>{'x' * 299}…</bdi>"]
    kept, hidden = "~é\u2027ش", "\0\t\n\x0b\x1f\x7f\x85\u00a0\u2028\u202e\u2066\ufeff\ud800"
    assert [plain(text) for text in (kept, hidden)] == [kept, "".join(f"\\u{ord(char):04x}" for char in hidden)]
    assert untrusted("a/b-c._d&.<e>") == "<bdi>a/<wbr>b-c._<wbr>d&amp;.<wbr>&lt;e&gt;</bdi>"


@pytest.mark.parametrize(
    ("set_up", "sentence"),
    [
        (lambda setup: (setup.succeed(zone(1)), setup.succeed(zone(2))), "All 2 targets answered their last poll."),
        (lambda setup: setup.succeed(zone(1)), "Nothing fails now."),
        # Rounds that are short have stalled after half a minute.
        (
            lambda setup: setup.rounds.update(lists=Round(5.0, setup.clock() - 29)) or setup.succeed(zone(1)),
            "The one target answered its last poll.",
        ),
        (lambda setup: (setup.succeed(zone(1)), setup.fail(zone(2))), "1 of 2 targets fails."),
        (lambda setup: (setup.fail(zone(1)), setup.fail(zone(2)), setup.fail(zone(3))), "3 of 3 targets fail."),
        (lambda setup: stale(setup, 2), "2 of 2 targets fail."),
        (removed, "What disappeared <i>7 script/7 60 min ago"),
        (lambda setup: setattr(setup.registry, "shard", Shard(1, 3)), "There is nothing to poll."),
        (lambda setup: setattr(setup.registry, "shard", Shard(1, 3)), "Shard (from 0) 1 of 3"),
        (lambda _: None, "There are no targets yet."),
        (lambda setup: setup.registry.configure([NAMING]), "There are no targets yet."),
        # Without what is known of an account's last answer, as for a database.
        (lambda setup: setup.up.clear(), "main no recent answer"),
        (lambda setup: setattr(setup, "spare", "spare: 2 of 2 shards are held"), "Spare: 2 of 2 shards are held."),
        (lambda setup: setattr(setup, "is_ledger_alive", False), "Unhealthy: the ledger has stalled."),
        (
            lambda setup: setup.rounds.update(lists=Round(60.0, setup.clock() - 180)),
            "Unhealthy: the task 'lists' has stalled.",
        ),
        (
            lambda setup: setup.rounds.update(lists=Round(60.0, setup.clock() - 170, START - 60)),
            "Tasks last succeeded lists 60 s ago",
        ),
        (lambda setup: setup.rounds.update(lists=Round(60.0, setup.clock())), "Tasks last succeeded lists not yet"),
        (refused, "The credential of main is not accepted."),
        (lambda setup: awaited(setup).succeed(zone(1)), "2 of 3 targets wait for the first poll."),
        (lambda setup: awaited(setup).fail(zone(1)), "1 of 3 targets fails; 2 wait for the first poll."),
        (
            lambda setup: setattr(awaited(setup).schedule, "is_discovered", False),
            "Not ready: discovery has not ended; 2 wait for the first poll.",
        ),
    ],
)
async def test_what_the_page_says_of_a_state(set_up: Callable[[ViewSetup], object], sentence: str) -> None:
    async with view_setup() as setup:
        set_up(setup)
        page = await shown(setup)
    assert " ".join(page.lines.replace("|", "").split()).count(sentence) == 1


async def test_the_form_and_the_links_keep_what_was_asked() -> None:
    asked = f"search=%3CB%3E+a%26b&collector={SCANS}&account=main"
    async with view_setup("main", "other") as setup:
        for number, name in enumerate(("<b> a&b", "another")):
            setup.fail(zone(number, name), SCANS)
        page = await shown(setup, f"/?{asked}&state=up&offset=2")
    assert [own["value"] for own in page.having("option", selected="")] == [SCANS, "main"]
    assert [own["value"] for own in page.having("input")] == ["<B> a&b", "up"]
    states = {own["id"]: own["href"] for own in page.having("a") if own.get("id", "").startswith("state-")}
    wanted = {"all": "", "failing": "&state=failing", "pending": "&state=pending", "up": "&state=up"}
    assert states == {f"state-{name}": f"./?{asked}{more}#targets" for name, more in wanted.items()}
    assert [own["id"] for own in page.having("a", aria_current="true")] == ["state-up"]
    assert "all 1" in page.text, "the search holds there, and the state does not"


async def test_notices_name_a_budget_that_does_not_suffice_and_a_pause() -> None:
    async with view_setup() as setup:
        account = setup.schedule.accounts["main"]
        account.pace.rate, account.pace.demand = 0.8, 1.2
        for operation in ("dns_statistics", "search"):
            account.client.rate_limiter.pause(operation, 30.0)
        text = (await shown(setup)).text
    assert "The targets of main need 1.2 requests/s, the budget allows 0.8: intervals are longer than" in text
    assert "1.2 of 0.8" in text
    assert "main is not polled for another 30 s: the platform asked to wait." in text


async def test_at_most_twelve_errors_are_shown_beside_a_link_to_all() -> None:
    async with view_setup() as setup:
        for number in range(60):
            setup.fail(zone(number), reason=f"reason_{number}")
        page = await shown(setup)
    assert page.html.partition('<ul class="errors">')[2].partition("</ul>")[0].count("<li>") == 12
    assert "All failures" in page.text


@pytest.mark.parametrize(
    ("query", "rows", "words", "links"),
    [
        ("", 100, "1 to 100 of 1,001 targets", {"after": "?offset=100"}),
        ("?offset=100", 100, "101 to 200 of 1,001 targets", {"before": "", "after": "?offset=200"}),
        ("?offset=1000", 1, "1,001 to 1,001 of 1,001 targets", {"before": "?offset=900"}),
        ("?offset=1100", 0, "1,001 targets, all on earlier pages", {"before": "?offset=1000"}),
        ("?search=nowhere", 0, "No target matches.", {}),
    ],
)
async def test_many_targets_come_in_pages(query: str, rows: int, words: str, links: dict[str, str]) -> None:
    async with view_setup() as setup:
        for number in range(1001):
            setup.succeed(zone(number))
        page = await shown(setup, f"/{query}")
    turned = {own["id"][5:]: own["href"] for own in page.having("a") if own.get("id", "").startswith("page-")}
    assert turned == {name: f"./{wanted}#targets" for name, wanted in links.items()}
    assert page.html.count('<th scope="row" class="cut') == rows
    assert words in page.text


@pytest.mark.parametrize(
    ("chart", "title", "drawn"),
    [
        ([5.0], "", []),
        ([0, 0, 0], "3 days: 0 to 0 a day, 0 so far on the newest", ["M2 28V28.0M6 28V28.0", "M10 28V28.0"]),
        ([1200, 3400, 900], "3 days: 1,200 to 3,400 a day, 900 so far on the newest",
         ["M2 28V18.8M6 28V2.0", "M10 28V21.1"]),
    ],
)  # fmt: skip
async def test_each_day_is_a_bar_and_the_newest_one_of_its_own(chart: list[float], title: str, drawn: object) -> None:
    async with view_setup() as setup:
        setup.succeed(zone(1), chart=chart)
        page = await shown(setup)
    assert (title in page.text, [" ".join(own["d"].split()) for own in page.having("path")]) == (True, drawn)
