"""The state database: rows, leases that exclude other exporters, and recovery from failures."""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from exporter.counters import state_database
from exporter.counters.database_storage import DatabaseStorage
from exporter.counters.lease_table import LeaseTable
from exporter.counters.rows import StateRow
from exporter.counters.state_database import Group, StateDatabase
from exporter.counters.storage import LeaseHeldError, LeaseLostError, NullObserver, StorageError
from exporter.targets.target import PollKey
from tests.counters.ledger_driver import WALL, LedgerDriver, key_of
from tests.counters.state_locations import DatabaseLocation
from tests.postgres import PASSWORD, Postgres
from tests.turned_clock import TurnedClock
from tests.waiting import PATIENCE, wait_until

LONG = 600.0
FIRST = Group("default", 1, "first/1")
SECOND = Group("default", 1, "second/1")
ZONE = key_of("102")
SCRIPT = PollKey.of("scripts", "main", "script", "7")
ROWS = {
    key_of(str(number)): StateRow(f"zone-{number}", WALL + number, bytes([number % 256]) * 900) for number in range(80)
}


@pytest.fixture
def location(postgres: Postgres) -> DatabaseLocation:
    return DatabaseLocation(postgres.new_database(), LONG)


@pytest.fixture
def database(location: DatabaseLocation) -> Iterator[StateDatabase]:
    """Connect to a database with its tables."""
    with closing(location.connect()) as database:
        database.prepare()
        yield database


def claim(database: StateDatabase, group: Group, shard: int = 0) -> int:
    """Claim a shard."""
    return LeaseTable(database, group).claim(shard)


def commit(
    database: StateDatabase, rows: Mapping[PollKey, StateRow | None], group: Group, epoch: int, shard: int = 0
) -> bool:
    """Write rows of a shard; return whether its lease allowed that."""
    return not database.commit({key: (shard, row) for key, row in rows.items()}, group, {shard: epoch})


def end_leases(location: DatabaseLocation) -> None:
    """End every lease, as if no exporter had renewed for its length."""
    location.execute("UPDATE edge_exporter_lease SET expires = clock_timestamp() - interval '1 s'")


@pytest.mark.parametrize("most", [7, 5000])
def test_rows_come_back_as_they_were_committed_last(
    database: StateDatabase, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """In several transactions, if there are more rows than one takes."""
    monkeypatch.setattr(state_database, "_LARGEST_COMMIT", most)
    epoch = claim(database, FIRST)
    commit(database, ROWS, FIRST, epoch)
    assert database.rows(FIRST, {0}) == ROWS
    assert database.rows(Group("default", 3, ""), ()) == ROWS, "those of another total"
    assert database.row("default", key_of("7")) == ROWS[key_of("7")]
    assert database.row("default", SCRIPT) is None
    replaced = {key_of("7"): StateRow("b", WALL + 1, b"c")}
    commit(database, {**replaced, key_of("8"): None, key_of("absent"): None}, FIRST, epoch)
    assert database.rows(FIRST, {0}) == {**{key: row for key, row in ROWS.items() if key != key_of("8")}, **replaced}


def test_odd_texts_stop_no_commit(database: StateDatabase) -> None:
    epoch = claim(database, FIRST)
    key = PollKey.of("scripts", "m\udc00", "script", "'; --")
    gone = PollKey.of("scripts", "m\udc01", "s", "")
    commit(database, {key: StateRow("n\ud800\0", WALL, b"\0"), gone: None}, FIRST, epoch)
    assert database.rows(FIRST, {0}) == {PollKey.of("scripts", "m?", "script", "'; --"): StateRow("n??", WALL, b"\0")}


def test_a_commit_takes_one_transaction_whatever_its_size(location: DatabaseLocation, database: StateDatabase) -> None:
    epoch = claim(database, FIRST)
    before = location.execute("SELECT txid_current()")[0][0]
    commit(database, ROWS, FIRST, epoch)
    after = location.execute("SELECT txid_current()")[0][0]
    assert isinstance(before, int)
    assert after == before + 2


def test_nothing_is_written_under_a_lease_that_another_has_claimed(
    location: DatabaseLocation, database: StateDatabase
) -> None:
    old = claim(database, FIRST)
    assert commit(database, {ZONE: StateRow("a", WALL, b"a")}, FIRST, old)
    end_leases(location)
    new = claim(database, SECOND)
    assert not commit(database, {ZONE: StateRow("a", WALL, b"old"), SCRIPT: StateRow("b", WALL, b"old")}, FIRST, old)
    assert not commit(database, {ZONE: None}, FIRST, old)
    assert LeaseTable(database, FIRST).renew({0: old}, divides=False).lost == {0}
    assert commit(database, {SCRIPT: StateRow("b", WALL, b"new")}, SECOND, new)
    assert database.rows(SECOND, {0}) == {ZONE: StateRow("a", WALL, b"a"), SCRIPT: StateRow("b", WALL, b"new")}


def test_what_is_of_an_older_epoch_is_neither_written_nor_served_after_its_shard_has_come_back(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.new_database()
    location = DatabaseLocation(url)
    refused: list[int] = []
    monkeypatch.setattr(NullObserver, "refused", lambda _, rows: refused.append(rows))
    storage = DatabaseStorage(lambda: url, FIRST, NullObserver(), only=None, shard_of=lambda _: 0, lease=9.0)
    leases = storage.leases
    leases.start()
    wait_until(lambda: leases.held == {0: 1}, "the first claim")
    storage.prepare()
    storage.rendered = leases.held
    wait_until(lambda: storage.counted() == {0: 1}, "counters of the first claim")
    # Another exporter counts in between, and ends.
    location.execute("UPDATE edge_exporter_lease SET epoch = 2, holder = 'second/1', expires = clock_timestamp()")
    assert storage.commit({ZONE: None, SCRIPT: None}) == {ZONE, SCRIPT}
    assert refused == [2]
    wait_until(lambda: leases.held == {0: 3} and leases.are_certain(), "the second claim")
    storage.prepare()
    assert storage.counted() == {}
    storage.rendered = leases.held
    wait_until(lambda: storage.counted() == {0: 3}, "counters of the second claim")
    storage.close()


def test_of_the_rows_of_several_shards_those_are_written_whose_leases_are_held(
    location: DatabaseLocation, database: StateDatabase
) -> None:
    one, two = (Group("default", 2, f"half/{number}") for number in range(2))
    held = {shard: claim(database, one, shard) for shard in range(2)}
    location.execute("UPDATE edge_exporter_lease SET expires = clock_timestamp() WHERE shard = 1")
    claim(database, two, 1)
    rows = {ZONE: (0, StateRow("a", WALL, b"a")), SCRIPT: (1, StateRow("b", WALL, b"b"))}
    assert database.commit(rows, one, held) == {1}
    assert database.rows(one, {0, 1}) == {ZONE: StateRow("a", WALL, b"a")}


OTHER_TOTAL = "INSERT INTO edge_exporter_lease VALUES ('default', 0, 2, 1, 'half/0', now() + interval '1 h')"
ROW = "INSERT INTO edge_exporter_row VALUES ('default', 'dns_statistics', 'main', 'dns_zone', '102', 0, 1, 'a', 1, 'x')"


def claimed_by(database: StateDatabase, *, is_only: bool) -> object:
    """Claim the only shard, or whatever is free; return the epoch, or who prevents it."""
    try:
        return claim(database, SECOND) if is_only else LeaseTable(database, SECOND).claim_free(1, {})
    except LeaseHeldError as error:
        return str(error).partition(";")[0]


@pytest.mark.parametrize("is_only", [True, False])
@pytest.mark.parametrize("is_commit", [True, False])
def test_a_claim_waits_for_a_commit_and_for_another_claim(
    location: DatabaseLocation, database: StateDatabase, *, is_only: bool, is_commit: bool
) -> None:
    """It finds the rows of the commit, and gets nothing if the other claim, by an exporter of another total, did."""
    if is_commit:
        claim(database, FIRST)
        end_leases(location)
    claimed: list[object] = []
    with psycopg.connect(location.url) as writer, closing(location.connect()) as other:
        # What a commit and a claim do first, and do not end yet.
        locks = "SELECT FROM edge_exporter_lease FOR SHARE" if is_commit else "SELECT pg_advisory_xact_lock({})"
        writer.execute(locks.format(state_database.LOCK).encode())
        thread = threading.Thread(target=lambda: claimed.append(claimed_by(other, is_only=is_only)))
        thread.start()
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        wait_until(lambda: location.execute(waiting) == [(1,)] or claimed, "a claim that waits")
        assert claimed == []
        writer.execute((ROW if is_commit else OTHER_TOTAL).encode())
        writer.commit()
        thread.join(PATIENCE)
    expected = (2, {0: 2}) if is_commit else ("half/0 holds shard 0 of 2", {})
    assert claimed == [expected[not is_only]]
    assert database.rows(SECOND, {0}) == ({ZONE: StateRow("a", 1.0, b"x")} if is_commit else {})


def test_a_lease_is_claimed_when_it_is_free_its_own_released_or_ended(
    location: DatabaseLocation, database: StateDatabase
) -> None:
    first = claim(database, FIRST)
    with pytest.raises(LeaseHeldError, match=r"first/1 holds shard 0 of 1; its lease lasts for (5\d\d|600) s"):
        claim(database, SECOND)
    assert claim(database, FIRST) == first + 1
    LeaseTable(database, FIRST).release({0: first + 1})
    assert claim(database, SECOND) == first + 2
    end_leases(location)
    assert claim(database, FIRST) == first + 3


def test_shards_of_another_total_wait_until_none_of_the_old_is_held(database: StateDatabase) -> None:
    halves = [Group("default", 2, f"half/{shard}") for shard in range(2)]
    epochs = [claim(database, half, shard) for shard, half in enumerate(halves)]
    third = Group("default", 3, "third/2")
    with pytest.raises(LeaseHeldError, match="of 2"):
        claim(database, third, 2)
    LeaseTable(database, halves[0]).release({0: epochs[0]})
    with pytest.raises(LeaseHeldError, match="half/1 holds shard 1 of 2"):
        claim(database, third, 2)
    assert LeaseTable(database, third).claim_free(3, {}) == {}
    LeaseTable(database, halves[1]).release({1: epochs[1]})
    claim(database, third, 2)
    with pytest.raises(LeaseHeldError, match="third/2 holds shard 2 of 3"):
        claim(database, halves[0], 0)
    # Another installation has leases of its own.
    assert claim(database, halves[0]._replace(installation="other"), 0) == 1


def test_a_lease_that_has_ended_is_not_renewed_beside_one_of_another_total(
    location: DatabaseLocation, database: StateDatabase
) -> None:
    """The holder was suspended, and exporters with a new total have started and claimed some of their shards."""
    old, new = Group("default", 8, "old/1"), Group("default", 16, "new/1")
    epoch = claim(database, old, 5)
    end_leases(location)
    assert LeaseTable(database, old).renew({5: epoch}, divides=True).lost == frozenset()
    end_leases(location)
    claim(database, new, 3)
    assert LeaseTable(database, old).renew({5: epoch}, divides=True).lost == {5}


def test_free_shards_are_claimed_by_one_statement_and_no_more_than_are_wanted(
    location: DatabaseLocation, database: StateDatabase
) -> None:
    one, two = (Group("default", 8, f"replica/{number}") for number in range(2))
    held = LeaseTable(database, one).claim_free(3, {})
    assert held == {0: 1, 1: 1, 2: 1}
    assert LeaseTable(database, two).claim_free(8, {}) == dict.fromkeys(range(3, 8), 1)
    assert LeaseTable(database, one).claim_free(8, held) == {}
    # The answer to its claim was lost: this process holds it, and does not know.
    assert LeaseTable(database, one).claim_free(1, {0: 1, 1: 1}) == {2: 2}
    end_leases(location)
    assert LeaseTable(database, two).claim_free(2, {}) == {0: 2, 1: 2}


@pytest.mark.usefixtures("database")
def test_many_claim_at_once_and_no_shard_has_two_holders(location: DatabaseLocation) -> None:
    claimed: list[int] = []

    def take(number: int) -> None:
        with closing(location.connect()) as own:
            claimed.extend(LeaseTable(own, Group("default", 16, f"replica/{number}")).claim_free(5, {}))

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(take, range(6)))
    assert sorted(claimed) == list(range(16))


def test_a_shard_reads_its_own_rows_and_those_of_another_total(database: StateDatabase) -> None:
    for shard in range(2):
        half = Group("default", 2, f"half/{shard}")
        epoch = claim(database, half, shard)
        rows = {
            key_of(str(shard)): StateRow(f"{shard}", WALL, b""),
            PollKey.of("platform_time", f"{shard}", "account", ""): StateRow("", WALL, b""),
        }
        commit(database, rows, half, epoch, shard)
        LeaseTable(database, half).release({shard: epoch})
    times = {PollKey.of("platform_time", f"{shard}", "account", "") for shard in range(2)}
    assert set(database.rows(Group("default", 2, "x"), {0})) == {key_of("0"), *times}
    assert set(database.rows(Group("default", 3, "x"), {0})) == {key_of("0"), key_of("1"), *times}


def test_a_shard_deletes_no_row_that_another_shard_of_the_total_has_written(database: StateDatabase) -> None:
    """The exporter may still have rows of another total; the target belongs to the other shard now."""
    zero, one = (Group("default", 2, f"half/{shard}") for shard in range(2))
    epochs = [claim(database, group, shard) for shard, group in enumerate((zero, one))]
    commit(database, {ZONE: StateRow("a", WALL, b"a")}, one, epochs[1], 1)
    commit(database, {ZONE: None}, zero, epochs[0], 0)
    assert set(database.rows(one, {1})) == {ZONE}
    commit(database, {ZONE: None}, one, epochs[1], 1)
    assert database.rows(one, {1}) == {}


def test_a_newer_schema_is_refused(location: DatabaseLocation, database: StateDatabase) -> None:
    location.execute("UPDATE edge_exporter_schema SET version = 3")
    with pytest.raises(StorageError, match="schema is 3, of a newer exporter; this one reads up to 2"):
        database.prepare()


def test_an_older_schema_is_led_to_the_newest_with_its_rows(
    location: DatabaseLocation, database: StateDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(database, {ZONE: StateRow("a", WALL, b"a")}, FIRST, claim(database, FIRST))
    step = ("UPDATE edge_exporter_row SET name = name || '!'", "ALTER TABLE edge_exporter_row ADD tag text")
    monkeypatch.setattr(state_database, "_MIGRATIONS", (*state_database._MIGRATIONS, step))
    monkeypatch.setattr(state_database, "SCHEMA_VERSION", 3)
    database.prepare()
    database.prepare()
    assert database.rows(FIRST, {0}) == {ZONE: StateRow("a!", WALL, b"a")}
    assert location.execute("SELECT version FROM edge_exporter_schema") == [(3,)]


def test_a_check_finds_what_is_wrong_and_makes_nothing(postgres: Postgres) -> None:
    location = DatabaseLocation(postgres.new_database())
    database = location.connect()
    database.check()
    assert location.execute("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'edge%%'") == [(0,)]
    database.close()
    location.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    location.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    guest = StateDatabase(lambda: location.url.replace(f"edge:{PASSWORD}", "guest:guest"), LONG)
    with pytest.raises(StorageError, match="the role may create no table in the schema"):
        guest.check()
    guest.close()


def test_many_exporters_make_the_tables_at_once(location: DatabaseLocation) -> None:
    def prepare(_number: int) -> None:
        with closing(location.connect()) as database:
            database.prepare()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(prepare, range(8)))


def test_a_connection_that_was_cut_is_made_anew_and_the_commit_goes_well(
    location: DatabaseLocation, database: StateDatabase
) -> None:
    epoch = claim(database, FIRST)
    commit(database, {ZONE: StateRow("a", WALL, b"a")}, FIRST, epoch)
    location.lose("")
    commit(database, {ZONE: StateRow("a", WALL, b"b")}, FIRST, epoch)
    assert database.rows(FIRST, {0}) == {ZONE: StateRow("a", WALL, b"b")}


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://edge:{PASSWORD}x@127.0.0.1:PORT/postgres",
        f"postgresql://edge:{PASSWORD}@127.0.0.1:1/postgres",
        f"postgresql://edge:{PASSWORD}@127.0.0.1:PORT/absent",
        f"postgresql://edge:{PASSWORD}@127.0.0.1:PORT/postgres?unknown={PASSWORD}",
        f"postgresql://edge:{PASSWORD}@[127.0.0.1:PORT/postgres",
    ],
)
def test_no_error_holds_the_password(postgres: Postgres, url: str) -> None:
    url = url.replace("PORT", str(postgres.port))
    database = StateDatabase(lambda: url, LONG)
    with pytest.raises(StorageError) as caught:
        database.prepare()
    assert PASSWORD not in repr(caught.getrepr(chain=True))
    assert str(caught.value)


def test_a_lease_is_relied_on_for_less_than_its_length(location: DatabaseLocation) -> None:
    """After a suspension, the clock has advanced, so that the remembered counters may not be served."""
    clock = TurnedClock(1000.0)
    storage = DatabaseStorage(
        lambda: location.url, FIRST, NullObserver(), only=0, shard_of=lambda _key: 0, lease=LONG, clock=clock
    )
    assert not storage.holds()
    storage.prepare()
    assert storage.holds()
    clock.now += LONG * 0.89
    assert storage.holds()
    clock.now += LONG * 0.02
    assert not storage.holds()
    storage.close()


def test_a_renewal_lets_a_lease_last_and_finds_that_it_is_lost(location: DatabaseLocation) -> None:
    lost = threading.Event()

    class Losses(NullObserver):
        def lost(self, *_: object) -> None:
            lost.set()

    # It is renewed after a third of its time; the rest is what a busy machine may take.
    first = DatabaseStorage(lambda: location.url, FIRST, Losses(), only=0, shard_of=lambda _key: 0, lease=9.0)
    first.prepare()
    ends = location.execute("SELECT expires FROM edge_exporter_lease")
    wait_until(lambda: location.execute("SELECT expires FROM edge_exporter_lease") != ends, "a renewal")
    assert not lost.is_set()
    location.execute("UPDATE edge_exporter_lease SET epoch = epoch + 1, holder = 'another'")
    assert lost.wait(PATIENCE)
    assert not first.holds()
    with pytest.raises(LeaseLostError):
        first.prepare()
    with pytest.raises(LeaseLostError):
        first.commit({ZONE: StateRow("a", WALL, b"a")})
    first.close()


def test_a_ledger_whose_shard_was_taken_counts_no_further(location: DatabaseLocation) -> None:
    with LedgerDriver(location.storage()) as old:
        assert [old.poll(count) for count in (40, 45)] == [0, 5]
        # The first renewal, at once, would make an ended lease last again.
        wait_until(lambda: isinstance(old.storage, DatabaseStorage) and old.storage.leases.has_answered)
        end_leases(location)
        with LedgerDriver(location.storage()) as new:
            assert new.poll(50) == 10
            # What is committed is published again; a request finds that the lease does not hold.
            assert old.poll(60) == 5
            assert isinstance(old.storage, DatabaseStorage)
            assert not old.storage.holds()
            assert old.events.is_up() is False
            assert new.poll(61) == 21


def test_a_database_that_is_away_lets_counters_stand_and_catch_up_as_soon_as_it_answers_again(
    postgres: Postgres,
) -> None:
    location = DatabaseLocation(postgres.new_database(), LONG)
    with LedgerDriver(location.storage(), retry=LONG) as driver:
        assert [driver.poll(count) for count in (40, 45)] == [0, 5]
        postgres.stop()
        try:
            assert [driver.poll(count) for count in (46, 49)] == [5, 5]
            assert driver.events.is_up() is False
        finally:
            postgres.start()
        driver.wake()
        assert driver.events.saved.wait(PATIENCE)
        assert driver.poll(50) == 10


def test_a_transaction_pooler_may_stand_in_between(postgres: Postgres) -> None:
    name = postgres.new_database().rpartition("/")[2]
    with postgres.pooled(name) as url:
        location = DatabaseLocation(url)
        with LedgerDriver(location.storage()) as driver:
            assert [driver.poll(count) for count in range(40, 60)] == [*range(20)]
            with pytest.raises(AssertionError, match="held"), LedgerDriver(location.storage(), attempts=1):
                pass
        with LedgerDriver(location.storage()) as driver:
            assert driver.poll(61) == 21
