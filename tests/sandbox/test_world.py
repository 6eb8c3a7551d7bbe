import pytest

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.resource_ids import ResourceIds
from exporter.sandbox.timestamps import iso_long, iso_naive, parse_date_time
from exporter.sandbox.world import World


def test_the_example_ids_are_those_that_the_documentation_uses(world: World) -> None:
    assert (7, "login", 3) in world.rate_limit_ids()
    assert (3, 11) in world.access_list_ids()
    assert 21 in world.custom_rule_ids()
    assert world.scripts.scripts.name(7) == "router"
    assert world.images()[0][:3] == ("dockerhub", "library", "nginx")


def test_images_are_listed_also_if_their_registry_is_unreachable(world: World) -> None:
    before = world.images()
    world.registries.set_reachable("github", reachable=False)
    assert world.images() == before


def test_the_world_can_be_as_small_as_nothing() -> None:
    world = World(clock=WorldClock(0.0, speed=0.0), dns_zones=0, scripts=0, shield_zones=0)
    assert (len(world.dns.zones), world.rate_limit_ids(), world.access_list_ids()) == (0, [], [])
    assert world.shield.page(1, 10)["page"]["totalPages"] == 0


def test_ids_are_added_removed_and_renamed() -> None:
    ids = ResourceIds(10, 3, ("seeded-0", "seeded-1", "seeded-2"))
    added = ids.add("added")
    ids.rename(11, "renamed")
    ids.remove(10)
    assert added == 13
    assert [(resource_id, ids.name(resource_id)) for resource_id in ids] == [
        (11, "renamed"),
        (12, "seeded-2"),
        (13, "added"),
    ]
    assert (len(ids), 10 in ids, 13 in ids, ids.slice(1, 5)) == (3, False, True, [12, 13])
    assert ids.add("next") == 14
    assert ids.add("back", 10) == 10
    assert ids.name(10) == "back"


@pytest.mark.parametrize("resource_id", [10, 0, -1, 2**63])
def test_a_known_or_invalid_id_cannot_be_added(resource_id: int) -> None:
    with pytest.raises(ValueError, match=r"already exists|is no id"):
        ResourceIds(10, 3, ("seeded-0", "seeded-1", "seeded-2")).add("x", resource_id)


def test_an_unknown_id_is_an_error() -> None:
    ids = ResourceIds(10, 3, ("seeded-0", "seeded-1", "seeded-2"))
    for act in (ids.name, ids.remove):
        with pytest.raises(KeyError):
            act(99)
    with pytest.raises(KeyError):
        ids.rename(99, "x")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-02", 86_400.0),
        ("1970-01-01T00:01", 60.0),
        ("1970-01-01T00:00:01Z", 1.0),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01T00:00:00.5000000Z", 0.5),
        ("1970-01-01T24:00:00Z", None),
        ("1970-1-1", None),
        ("1970-W01-1", None),
        ("1970-01-01 00:00:00", None),
        ("", None),
        ("1970-01-01T00:00:00Zulu", None),
    ],
)
def test_dates_and_date_times_are_read_strictly(text: str, moment: float | None) -> None:
    assert parse_date_time(text) == moment


def test_moments_are_written_in_both_of_the_platforms_ways() -> None:
    assert iso_long(1_770_370_056.25) == "2026-02-06T09:27:36.2500000Z"
    assert iso_naive(1_770_370_056.25) == "2026-02-06T09:27:36"
