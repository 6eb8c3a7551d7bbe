import re
from collections.abc import Callable

import pytest

from exporter.assets.shipped import REPOSITORY
from exporter.targets.target import Target, TargetKey
from exporter.web.page.wording import foreign
from exporter.web.status_models import LedgerView, State
from tests.exporter_parts import START
from tests.web.rendered import HOSTILE, Page, rendered
from tests.web.view_setup import SCANS, STATISTICS, ViewSetup, view_setup, zone


def stale(setup: ViewSetup, number: int) -> ViewSetup:
    """Set up zones that served once, and whose series are gone."""
    for one in range(number):
        setup.succeed(zone(one))
    setup.turn(61)
    setup.schedule.last_tick = setup.clock()
    setup.store.expire()
    for one in range(number):
        setup.fail(zone(one))
    return setup


async def test_the_page_has_nothing_inline_and_no_external_resources() -> None:
    async with view_setup() as setup:
        setup.succeed(zone(101, "shop.example"), chart=range(31))
        setup.fail(zone(102))
        page = await rendered(setup)
    assert {name for _, own in page.tags for name in own if name.startswith("on") or name == "style"} == set()
    assert page.having("style") == []
    (script,) = page.having("script")
    assert re.fullmatch(r"static/page\.js\?v=[0-9a-f]{16}", script["src"])
    places = {own[name] for _, own in page.tags for name in ("src", "href", "action") if name in own}
    documents = {own["href"] for own in page.having("a") if own["href"].startswith(REPOSITORY)}
    assert [place for place in places - documents if re.match(r"/|[a-z]+:", place)] == []
    assert len(documents) == 4


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
async def test_text_from_the_platform_is_never_markup(hostile: str) -> None:
    async with view_setup(hostile) as setup:
        setup.up[hostile] = False
        setup.faults = (hostile,)
        calm, loud = zone(1, "calm", hostile), Target(hostile, "image", hostile, hostile)
        setup.fail(calm, message="calm")
        usual = await rendered(setup)
        setup.fail(calm, message=hostile, reason=hostile)
        setup.succeed(loud, "container_tags", note=hostile)
        page = await rendered(setup)
    assert {tag for tag, _ in page.tags} == {tag for tag, _ in usual.tags}
    assert len(page.having("script")) == len(page.having("img")) == 1
    assert {name for _, own in page.tags for name in own} == {name for _, own in usual.tags for name in own}
    assert re.search("[\0-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page.html) is None
    assert max(len(line) for line in page.texts) <= 300


def test_a_hostile_name_is_shown_as_far_as_it_can_be() -> None:
    assert [foreign(HOSTILE[name]) for name in ("script", "newlines", "nul", "direction")] == [
        "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>",
        "<bdi>a  b c d</bdi>",
        "<bdi>a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}</bdi>",
        "<bdi>\N{REPLACEMENT CHARACTER}gnp.exe\N{REPLACEMENT CHARACTER}</bdi>",
    ]
    assert foreign(HOSTILE["long"]) == f"<bdi>{'x' * 299}…</bdi>"


@pytest.mark.parametrize(
    ("set_up", "sentence"),
    [
        (lambda _: None, "There is nothing to poll."),
        (lambda setup: (setup.succeed(zone(1)), setup.succeed(zone(2))), "All 2 targets answered their last poll."),
        (lambda setup: setup.succeed(zone(1)), "Nothing fails now."),
        (lambda setup: setup.succeed(zone(1)), "The one target answered its last poll."),
        (lambda setup: (setup.succeed(zone(1)), setup.fail(zone(2))), "1 of 2 targets fails."),
        (lambda setup: (setup.fail(zone(1)), setup.fail(zone(2)), setup.fail(zone(3))), "3 of 3 targets fail."),
        (lambda setup: stale(setup, 1), "1 of 1 target is stale."),
        (lambda setup: (stale(setup, 2), setup.fail(zone(9))), "3 of 3 targets fail, 2 of them stale."),
        (lambda setup: stale(setup, 2), "2 of 2 targets fail, all of them stale."),
        (lambda setup: setattr(setup, "is_authenticated", False), "Not ready: no authenticated answer has come."),
        (lambda setup: setattr(setup, "is_ledger_alive", False), "Unhealthy: the ledger has stalled."),
    ],
)
async def test_the_first_sentence_names_the_worst_part_of_the_state(
    set_up: Callable[[ViewSetup], object], sentence: str
) -> None:
    async with view_setup() as setup:
        set_up(setup)
        assert sentence in (await rendered(setup)).text


async def test_the_notice_names_the_limit_that_binds() -> None:
    async with view_setup() as setup:
        setup.schedule.accounts["main"].capacity.seconds = 5.0
        setup.schedule.demands["main"] = 1.2
        text = (await rendered(setup)).text
    assert "main asks for 1.2 requests/s and max_in_flight allows 0.8: its intervals are stretched." in text
    assert "1.2 of 0.8" in text


async def test_notices_name_what_needs_attention() -> None:
    async with view_setup() as setup:
        setup.faults = ("config.yml:3: no such key",)
        setup.ledger = LedgerView(durable=True, saves=False, set_aside=START - 60)
        setup.schedule.demands["main"] = 20.0
        setup.is_authenticated = False
        setup.fail(zone(1))
        text = (await rendered(setup)).text
    assert "Not ready: no authenticated answer has come." in text
    assert "The last reload was refused; the former configuration is in force.config.yml:3: no such key" in text
    assert "The counters cannot be saved" in text
    assert "The state file was found damaged 60 s ago: counters may have started again at 0." in text
    assert "main asks for 20 requests/s and requests_per_second allows 10: its intervals are stretched." in text


async def test_a_notice_names_the_pause_after_a_429() -> None:
    async with view_setup() as setup:
        budget = setup.schedule.accounts["main"].client.rate_limiter
        for path in ("/one", "/two"):
            budget.release(await budget.acquire(path), limited=True, wait=30.0)
        assert "main is not polled for 30 s: the platform answered 429." in (await rendered(setup)).text


@pytest.mark.parametrize(
    ("ledger", "words"),
    [
        (None, None),
        (LedgerView(durable=True, saves=True, set_aside=None), "kept in the state file"),
        (LedgerView(durable=False, saves=True, set_aside=None), "not persisted"),
        (LedgerView(durable=True, saves=False, set_aside=None), "the last write failed"),
    ],
)
async def test_the_ledger_s_state_is_shown(ledger: LedgerView | None, words: str | None) -> None:
    async with view_setup() as setup:
        setup.ledger = ledger
        page = await rendered(setup)
    assert ("Counters" in page.text) == (words is not None)
    assert words is None or words in page.text


async def test_a_row_shows_all_of_a_target() -> None:
    async with view_setup() as setup:
        setup.succeed(zone(101, "shop.example"), chart=[1000] * 30 + [500], took=0.25)
        setup.turn(12)
        (row,) = (await rendered(setup)).rows
    assert " ".join(row.split()) == "ok shop.example dns_zone/101 dns_statistics 12 s ago 250 ms 30.5k queries"


async def test_a_rate_limit_shows_its_zone_by_name_or_label() -> None:
    async with view_setup() as setup:
        for number, zone_id in (("4", "3"), ("6", "9")):
            limit = Target("main", "rate_limit", number, "api", {"shield_zone_id": zone_id})
            setup.fail(limit, "shield_rate_limits")
        setup.registry.remember({TargetKey.of("main", "shield_zone", "3"): "shop.example"})
        page = await rendered(setup)
    assert [" ".join(row.split())[:50].partition(" rate_")[0] for row in page.rows] == [
        "failing api shop.example",
        "failing api shield_zone/9",
    ]
    assert "api shop.example rate_limit/4 and 1 more" in " ".join(page.text.split())


async def test_a_poll_that_made_no_call_shows_no_duration() -> None:
    async with view_setup() as setup:
        setup.schedule.durations |= {STATISTICS: 0.0002, SCANS: 0.012}
        setup.succeed(zone(1), took=0.0002)
        page = await rendered(setup)
    assert [page.rows[0].count("\N{EN DASH}"), page.html.count("the last poll made no call")] == [
        1,
        len(setup.schedule.plans),
    ]
    assert "12 ms" in page.text


async def test_a_row_of_a_failing_target_shows_the_reason() -> None:
    async with view_setup("main", "other") as setup:
        setup.fail(zone(101), message="the platform answered 500")
        page = await rendered(setup)
    assert " ".join(page.rows[0].split()) == (
        "failing no name dns_zone/101 dns_statistics main never 200 ms the platform answered 500"
    )


async def test_equal_failures_of_several_collectors_are_shown_once() -> None:
    async with view_setup("main", "other") as setup:
        setup.fail(zone(1, "one"), message="the platform answered 500")
        setup.fail(zone(2, "two"), message="the platform answered 500")
        setup.turn(5)
        setup.fail(zone(9, "nine", "other"), message="the platform answered 500")
        setup.turn(5)
        setup.fail(zone(3, "three"), reason="forbidden", message="not yours")
        setup.turn(10)
        setup.fail(zone(1, "one"), SCANS, message="the platform answered 500")
        page = await rendered(setup)
    part = Page(page.html.partition('<ul class="errors">')[2].partition("</ul>")[0])
    assert [line for line in part.text.splitlines() if line] == [
        "server_error one dns_zone/1 and 2 more main dns_record_scans, dns_statistics now",
        "the platform answered 500",
        "forbidden three dns_zone/3 main dns_statistics 10 s ago",
        "not yours",
        "server_error nine dns_zone/9 other dns_statistics 15 s ago",
        "the platform answered 500",
    ]
    assert part.having("a")[0]["href"] == (
        "./?collector=dns_record_scans&collector=dns_statistics&account=main&state=failing&state=stale#targets"
    )


async def test_failures_of_a_pause_are_shown_once_whatever_is_left_of_it() -> None:
    async with view_setup() as setup:
        for left in (30, 29, 28):
            message = f"the account is paused for another {left} s after a 429"
            setup.fail(zone(left), reason="rate_limited", message=message)
            setup.turn(1)
            setup.fail(zone(left), SCANS, reason="rate_limited", message=message)
        page = await rendered(setup)
    assert page.html.partition('<ul class="errors">')[2].partition("</ul>")[0].count("<li>") == 1


async def test_headline_counts_and_chips_agree() -> None:
    async with view_setup() as setup:
        stale(setup, 1).succeed(zone(7))
        page = await rendered(setup)
    words = " ".join(re.sub(r"<[^>]+>", " ", page.html).split())
    assert "1 of 2 targets is stale." in words
    assert "1 failing · edge-exporter" in words
    assert "all 2 ok 1 failing 1 of them stale 1 pending 0" in words


async def test_a_refused_key_is_named_before_and_after_readiness() -> None:
    async with view_setup() as setup:
        setup.up["main"] = setup.is_authenticated = False
        setup.schedule.accounts["main"].client.credential.refuse("wrong")
        setup.fail(zone(1), reason="unauthorized")
        before = (await rendered(setup)).text
        setup.is_authenticated = True
        after = (await rendered(setup)).text
    assert "Not ready: the key of account main is not accepted." in before
    assert "The key of account main is not accepted." in after
    assert before.count("is not accepted") == after.count("is not accepted") == 1


async def test_at_most_twelve_errors_are_shown_beside_a_link_to_all() -> None:
    async with view_setup() as setup:
        for number in range(20):
            setup.fail(zone(number), reason=f"reason_{number}")
        page = await rendered(setup)
    assert page.html.partition('<ul class="errors">')[2].partition("</ul>")[0].count("<li>") == 12
    assert "All failures" in page.text


async def test_a_collector_whose_intervals_are_stretched_shows_both() -> None:
    async with view_setup() as setup:
        setup.schedule.stretch = 3.0
        setup.succeed(zone(1))
        page = await rendered(setup)
    interval = setup.schedule.plans[STATISTICS].interval
    assert f"{interval * 3 / 60:.0f} min {interval / 60:.0f} min" in page.text


async def test_every_table_has_a_caption_and_scoped_heads() -> None:
    async with view_setup() as setup:
        setup.succeed(zone(1))
        page = await rendered(setup)
    assert len(page.having("table")) == len(page.having("caption")) == 3
    assert {own.get("scope") for own in page.having("th")} == {"col", "row"}
    assert len(page.having("th", scope="row")) == 1 + len(setup.schedule.plans) + 1
    frames = page.having("div", role="group")
    assert [frame["aria-label"] for frame in frames] == ["Accounts and databases", "Collectors", "Targets"]
    assert {frame["tabindex"] for frame in frames} == {"0"}


async def test_the_fields_have_labels_and_ids_are_unique() -> None:
    async with view_setup("main", "other") as setup:
        setup.succeed(zone(1))
        page = await rendered(setup)
    fields = {own["id"] for tag in ("input", "select") for own in page.having(tag) if own.get("type") != "hidden"}
    assert fields == {own["for"] for own in page.having("label")} == {"search", "collector", "account"}
    ids = [own["id"] for _, own in page.tags if "id" in own]
    assert len(ids) == len(set(ids))
    referred = {own["aria-labelledby"] for _, own in page.tags if "aria-labelledby" in own}
    assert referred <= set(ids)


async def test_heads_sort_and_show_the_order() -> None:
    async with view_setup() as setup:
        setup.succeed(zone(1))
        page = await rendered(setup, sort="age", descending=True, search="zone")
    (current,) = [own for own in page.having("th") if "aria-sort" in own]
    assert current["aria-sort"] == "descending"
    assert page.having("a", id="sort-age")[0]["href"] == "./?search=zone&sort=age#targets"
    assert page.having("a", id="sort-chart")[0]["href"] == "./?search=zone&sort=chart&order=desc#targets"
    assert page.having("a", id="sort-target")[0]["href"] == "./?search=zone&sort=target#targets"


async def test_the_form_keeps_what_links_chose() -> None:
    async with view_setup() as setup:
        page = await rendered(setup, sort="age", descending=True, states=(State.OK,), limit=1000, search="a&b")
    hidden = {own["name"]: own["value"] for own in page.having("input", type="hidden")}
    assert hidden == {"state": "ok", "sort": "age", "order": "desc", "limit": "1000"}
    assert page.having("input", id="search")[0]["value"] == "a&b"


async def test_states_are_links_with_their_numbers() -> None:
    async with view_setup() as setup:
        setup.succeed(zone(1))
        setup.fail(zone(2))
        page = await rendered(setup, states=(State.OK,))
    part = page.html.partition('<ul class="choices"')[2].partition("</ul>")[0]
    choices = re.sub(r"<[^>]+>", " ", part.partition(">")[2])
    assert " ".join(choices.split()) == "all 2 ok 1 failing 1 of them stale 0 pending 0"
    (current,) = page.having("a", aria_current="true")
    assert current["id"] == "state-ok"
    assert page.having("a", id="state-all")[0]["href"] == "./#targets"


async def test_what_fails_in_a_collector_is_a_link_away() -> None:
    async with view_setup() as setup:
        setup.fail(zone(2))
        page = await rendered(setup)
        href = f"./?collector={STATISTICS}&state=failing&state=stale#targets"
        assert href in [own.get("href") for own in page.having("a")]
        followed = await rendered(setup, collectors=(STATISTICS,), states=(State.FAILING, State.STALE))
    assert [own["id"] for own in followed.having("a", aria_current="true")] == ["state-failing"]


async def test_many_targets_come_in_pages() -> None:
    async with view_setup() as setup:
        for number in range(250):
            setup.succeed(zone(number))
        first = await rendered(setup)
        middle = await rendered(setup, offset=100)
        last = await rendered(setup, offset=200)
        whole = await rendered(setup, limit=1000)
    assert [len(page.rows) for page in (first, middle, last, whole)] == [100, 100, 50, 250]
    assert "101 to 200 of 250 targets" in middle.text
    ids = [
        {own["id"] for own in page.having("a") if own.get("id", "").startswith("page-")}
        for page in (first, middle, last, whole)
    ]
    assert ids == [{"page-after"}, {"page-before", "page-after"}, {"page-before"}, set()]
    assert middle.having("a", id="page-before")[0]["href"] == "./#targets"
    assert middle.having("a", id="page-after")[0]["href"] == "./?offset=200#targets"
    assert first.having("a", id="size-10000")[0]["href"] == "./?limit=10000#targets"


async def test_a_long_page_is_refreshed_less_often() -> None:
    async with view_setup() as setup:
        for number in range(1001):
            setup.succeed(zone(number))
        short, long = await rendered(setup), await rendered(setup, limit=10_000)
    assert [page.having("div", id="answer")[0]["data-refresh"] for page in (short, long)] == ["5", "60"]


async def test_an_empty_result_has_a_sentence() -> None:
    async with view_setup() as setup:
        assert "There are no targets yet." in (await rendered(setup)).text
        setup.succeed(zone(1))
        page = await rendered(setup, search="nowhere")
    assert "No target matches." in page.text


@pytest.mark.parametrize(
    ("chart", "drawn"),
    [
        ([], None),
        ([5.0], None),
        ([0.0, 0.0, 0.0], ("3 days: 0 to 0 a day, 0 so far on the newest", "M4 25L60 25", ("116", "25"))),
        ([0, 50, 100, 25], ("4 days: 0 to 100 a day, 25 so far on the newest", "M4 25L41 14L79 3", ("116", "20"))),
        ([1200, 3400, 900], ("3 days: 1.20k to 3.40k a day, 900 so far on the newest", "M4 17L60 3", ("116", "19"))),
    ],
)
async def test_the_days_that_are_over_are_a_line_and_the_newest_is_a_dot(
    chart: list[float], drawn: tuple[str, str, tuple[str, str]] | None
) -> None:
    async with view_setup() as setup:
        setup.succeed(zone(1), chart=chart)
        page = await rendered(setup)
    lines = page.having("path", **{"class": "line"})
    dots = [(circle["cx"], circle["cy"]) for circle in page.having("circle", r="2")]
    if drawn is None:
        assert page.having("svg", **{"class": "spark"}) == []
    else:
        assert (drawn[0] in page.text, [line["d"] for line in lines], dots) == (True, [drawn[1]], [drawn[2]])
