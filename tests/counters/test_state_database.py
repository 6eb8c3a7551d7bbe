"""The state database: rows, leases that keep other exporters out, and what is survived."""

import random
import threading
from dataclasses import dataclass

import psycopg
import pytest

from exporter.counters import state_database
from exporter.counters.database_storage import DatabaseStorage
from exporter.counters.state_database import Claim, StateDatabase
from exporter.counters.storage import LeaseHeldError, LeaseLostError, StorageError, Stored
from exporter.targets.target import PollKey
from tests.counters.book import WALL, Book, key_of
from tests.counters.places import DatabasePlace
from tests.postgres import PASSWORD, Postgres
from tests.waiting import PATIENCE, wait_until

LONG = 600.0
FIRST = Claim("default", 0, 1, "first/1")
SECOND = Claim("default", 0, 1, "second/1")
ZONE = key_of("102")
SCRIPT = PollKey.of("scripts", "main", "script", "7")
ROWS = {
    key_of(str(number)): Stored(f"zone-{number}", WALL + number, bytes([number % 256]) * 900) for number in range(80)
}


@pytest.fixture
def place(postgres: Postgres) -> DatabasePlace:
    return DatabasePlace(postgres.new_database(), LONG)


@pytest.fixture
def database(place: DatabasePlace) -> StateDatabase:
    """A connection to a database whose tables are made."""
    database = place.connect()
    database.prepare()
    return database


def end_leases(place: DatabasePlace) -> None:
    """Let every lease have ended, as if no exporter had been heard of for its length."""
    place.execute("UPDATE edge_exporter_lease SET expires = clock_timestamp() - interval '1 s'")


def test_rows_come_back_as_they_were_committed(database: StateDatabase) -> None:
    epoch = database.claim(FIRST)
    database.commit(ROWS, FIRST, epoch)
    assert database.rows(FIRST) == ROWS
    assert database.all_rows("default") == ROWS
    assert database.row("default", key_of("7")) == ROWS[key_of("7")]
    assert database.row("default", SCRIPT) is None
    database.close()


def test_a_row_is_replaced_whole_and_none_deletes_one(database: StateDatabase) -> None:
    epoch = database.claim(FIRST)
    database.commit({ZONE: Stored("a", WALL, b"a"), SCRIPT: Stored("router", WALL, b"b")}, FIRST, epoch)
    database.commit({ZONE: Stored("b", WALL + 1, b"c"), SCRIPT: None, key_of("9"): None}, FIRST, epoch)
    assert database.rows(FIRST) == {ZONE: Stored("b", WALL + 1, b"c")}
    database.close()


def test_more_rows_than_one_transaction_takes(database: StateDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_database, "_LARGEST_COMMIT", 7)
    epoch = database.claim(FIRST)
    database.commit(ROWS, FIRST, epoch)
    assert database.rows(FIRST) == ROWS
    database.close()


def test_odd_texts_stop_no_commit(database: StateDatabase) -> None:
    epoch = database.claim(FIRST)
    key = PollKey.of("scripts", "m\udc00", "script", "'; --")
    database.commit(
        {key: Stored("n\ud800\0", WALL, b"\0"), PollKey.of("scripts", "m\udc01", "s", ""): None}, FIRST, epoch
    )
    assert database.rows(FIRST) == {PollKey.of("scripts", "m?", "script", "'; --"): Stored("n??", WALL, b"\0")}
    database.close()


def test_a_commit_takes_one_transaction_whatever_its_size(place: DatabasePlace, database: StateDatabase) -> None:
    epoch = database.claim(FIRST)
    before = place.execute("SELECT txid_current()")[0][0]
    database.commit(ROWS, FIRST, epoch)
    after = place.execute("SELECT txid_current()")[0][0]
    assert isinstance(before, int)
    assert after == before + 2
    database.close()


def test_nothing_is_written_under_a_lease_that_another_has_claimed(
    place: DatabasePlace, database: StateDatabase
) -> None:
    old = database.claim(FIRST)
    database.commit({ZONE: Stored("a", WALL, b"a")}, FIRST, old)
    end_leases(place)
    new = database.claim(SECOND)
    with pytest.raises(LeaseLostError):
        database.commit({ZONE: Stored("a", WALL, b"old"), SCRIPT: Stored("b", WALL, b"old")}, FIRST, old)
    with pytest.raises(LeaseLostError):
        database.commit({ZONE: None}, FIRST, old)
    with pytest.raises(LeaseLostError):
        database.renew(FIRST, old)
    database.commit({SCRIPT: Stored("b", WALL, b"new")}, SECOND, new)
    assert database.rows(SECOND) == {ZONE: Stored("a", WALL, b"a"), SCRIPT: Stored("b", WALL, b"new")}
    database.close()


def test_a_claim_waits_for_a_commit_that_is_under_way_and_finds_its_rows(
    place: DatabasePlace, database: StateDatabase
) -> None:
    old = database.claim(FIRST)
    end_leases(place)
    claimed: list[int] = []
    with psycopg.connect(place._url) as writer:
        # What a commit does first, and does not end yet.
        writer.execute("SELECT FROM edge_exporter_lease WHERE epoch = %s FOR SHARE", (old,))
        other = place.connect()
        thread = threading.Thread(target=lambda: claimed.append(other.claim(SECOND)))
        thread.start()
        wait_until(
            lambda: place.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == [(1,)],
            "a claim that waits",
        )
        assert claimed == []
        writer.execute(
            "INSERT INTO edge_exporter_row "
            "VALUES ('default', 'dns_statistics', 'main', 'dns_zone', '102', 0, 1, 'a', 1, 'x')"
        )
    thread.join(PATIENCE)
    assert claimed == [old + 1]
    assert database.rows(SECOND) == {ZONE: Stored("a", 1.0, b"x")}
    other.close()
    database.close()


def test_a_lease_is_claimed_when_it_is_free_its_own_released_or_ended(
    place: DatabasePlace, database: StateDatabase
) -> None:
    first = database.claim(FIRST)
    with pytest.raises(LeaseHeldError, match=r"first/1 holds shard 0 of 1; its lease lasts for \d+ s"):
        database.claim(SECOND)
    assert database.claim(FIRST) == first + 1
    database.release(FIRST, first + 1)
    assert database.claim(SECOND) == first + 2
    end_leases(place)
    assert database.claim(FIRST) == first + 3
    database.close()


def test_shards_of_another_total_wait_until_none_of_the_old_is_held(database: StateDatabase) -> None:
    halves = [Claim("default", shard, 2, f"half/{shard}") for shard in range(2)]
    epochs = [database.claim(half) for half in halves]
    third = Claim("default", 2, 3, "third/2")
    with pytest.raises(LeaseHeldError, match="of 2"):
        database.claim(third)
    database.release(halves[0], epochs[0])
    with pytest.raises(LeaseHeldError, match="half/1 holds shard 1 of 2"):
        database.claim(third)
    database.release(halves[1], epochs[1])
    database.claim(third)
    with pytest.raises(LeaseHeldError, match="third/2 holds shard 2 of 3"):
        database.claim(halves[0])
    # Another installation has leases of its own.
    assert database.claim(halves[0]._replace(installation="other")) == 1
    database.close()


def test_a_shard_reads_its_own_rows_and_those_of_another_total(database: StateDatabase) -> None:
    for shard in range(2):
        half = Claim("default", shard, 2, f"half/{shard}")
        epoch = database.claim(half)
        rows = {
            key_of(str(shard)): Stored(f"{shard}", WALL, b""),
            PollKey.of("platform_time", f"{shard}", "account", ""): Stored("", WALL, b""),
        }
        database.commit(rows, half, epoch)
        database.release(half, epoch)
    times = {PollKey.of("platform_time", f"{shard}", "account", "") for shard in range(2)}
    assert set(database.rows(Claim("default", 0, 2, "x"))) == {key_of("0"), *times}
    assert set(database.rows(Claim("default", 0, 3, "x"))) == {key_of("0"), key_of("1"), *times}
    database.close()


def test_a_shard_deletes_no_row_that_another_shard_of_the_total_has_written(database: StateDatabase) -> None:
    """It may still hold what it read of another total; the target is the other shard's now."""
    zero, one = (Claim("default", shard, 2, f"half/{shard}") for shard in range(2))
    epochs = {claim: database.claim(claim) for claim in (zero, one)}
    database.commit({ZONE: Stored("a", WALL, b"a")}, one, epochs[one])
    database.commit({ZONE: None}, zero, epochs[zero])
    assert set(database.rows(one)) == {ZONE}
    database.commit({ZONE: None}, one, epochs[one])
    assert database.rows(one) == {}
    database.close()


def test_a_newer_schema_is_refused(place: DatabasePlace, database: StateDatabase) -> None:
    place.execute("UPDATE edge_exporter_schema SET version = 2")
    with pytest.raises(StorageError, match="schema 2 of a newer version; this one knows 1"):
        database.prepare()
    database.close()


def test_an_older_schema_is_led_to_the_newest_with_its_rows(
    place: DatabasePlace, database: StateDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.commit({ZONE: Stored("a", WALL, b"a")}, FIRST, database.claim(FIRST))
    step = ("UPDATE edge_exporter_row SET name = name || '!'", "ALTER TABLE edge_exporter_row ADD tag text")
    monkeypatch.setattr(state_database, "_MIGRATIONS", (*state_database._MIGRATIONS, step))
    monkeypatch.setattr(state_database, "SCHEMA_VERSION", 2)
    database.prepare()
    database.prepare()
    assert database.rows(FIRST) == {ZONE: Stored("a!", WALL, b"a")}
    assert place.execute("SELECT version FROM edge_exporter_schema") == [(2,)]
    database.close()


def test_a_check_finds_what_is_wrong_and_makes_nothing(postgres: Postgres) -> None:
    place = DatabasePlace(postgres.new_database())
    database = place.connect()
    database.check()
    assert place.execute("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'edge%%'") == [(0,)]
    database.close()
    place.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    place.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    guest = StateDatabase(lambda: place._url.replace(f"edge:{PASSWORD}", "guest:guest"), LONG)
    with pytest.raises(StorageError, match="the role may create no table in the schema"):
        guest.check()
    guest.close()


def test_many_exporters_make_the_tables_at_once(place: DatabasePlace) -> None:
    failed: list[Exception] = []

    def prepare() -> None:
        database = place.connect()
        try:
            database.prepare()
        except StorageError as error:
            failed.append(error)
        database.close()

    threads = [threading.Thread(target=prepare) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert failed == []


def test_a_connection_that_was_cut_is_made_anew_and_the_commit_goes_well(
    place: DatabasePlace, database: StateDatabase
) -> None:
    epoch = database.claim(FIRST)
    database.commit({ZONE: Stored("a", WALL, b"a")}, FIRST, epoch)
    place.lose("")
    database.commit({ZONE: Stored("a", WALL, b"b")}, FIRST, epoch)
    assert database.rows(FIRST) == {ZONE: Stored("a", WALL, b"b")}
    database.close()


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


@dataclass
class Clock:
    """A clock that a test turns."""

    now: float = 1000.0

    def __call__(self) -> float:
        """Read it."""
        return self.now


def test_a_lease_is_relied_on_for_less_than_its_length(place: DatabasePlace) -> None:
    """A machine that was suspended finds that its clock has gone on, and may not serve what it remembers."""
    clock = Clock()
    storage = DatabaseStorage(lambda: place._url, FIRST, lost=lambda: None, lease=LONG, clock=clock)
    assert not storage.holds()
    storage.prepare()
    assert storage.holds()
    clock.now += LONG * 0.89
    assert storage.holds()
    clock.now += LONG * 0.02
    assert not storage.holds()
    storage.close()


def test_a_renewal_lets_a_lease_last_and_finds_that_it_is_lost(place: DatabasePlace) -> None:
    lost = threading.Event()
    short = 1.5
    first = DatabaseStorage(lambda: place._url, FIRST, lost=lost.set, lease=short)
    first.prepare()
    ends = place.execute("SELECT expires FROM edge_exporter_lease")
    wait_until(lambda: place.execute("SELECT expires FROM edge_exporter_lease") != ends, "a renewal")
    assert not lost.is_set()
    place.execute("UPDATE edge_exporter_lease SET epoch = epoch + 1, holder = 'another'")
    assert lost.wait(PATIENCE)
    assert not first.holds()
    with pytest.raises(LeaseLostError):
        first.prepare()
    with pytest.raises(LeaseLostError):
        first.commit({ZONE: Stored("a", WALL, b"a")})
    first.close()


def test_a_ledger_goes_on_counting_where_another_stopped(place: DatabasePlace) -> None:
    with Book(place.storage()) as book:
        assert [book.poll(count) for count in (40, 45)] == [0, 5]
        with pytest.raises(AssertionError, match="held"), Book(place.storage(), attempts=1):
            pass
    with Book(place.storage()) as book:
        assert book.poll(52) == 12


def test_a_ledger_whose_shard_was_taken_counts_no_further(place: DatabasePlace) -> None:
    with Book(place.storage()) as old:
        assert [old.poll(count) for count in (40, 45)] == [0, 5]
        end_leases(place)
        with Book(place.storage()) as new:
            assert new.poll(50) == 10
            # What is committed is published again; a request finds that the lease does not hold.
            assert old.poll(60) == 5
            assert not old.storage.holds()
            assert old.heard.is_up() is False
            assert new.poll(61) == 21


def test_a_database_that_is_away_lets_counters_stand_and_catch_up(postgres: Postgres) -> None:
    place = DatabasePlace(postgres.new_database(), LONG)
    with Book(place.storage()) as book:
        assert [book.poll(count) for count in (40, 45)] == [0, 5]
        postgres.stop()
        try:
            assert [book.poll(count) for count in (46, 49)] == [5, 5]
            assert book.heard.is_up() is False
        finally:
            postgres.start()
        assert book.poll(50) == 10
        assert book.heard.is_up() is True


def test_a_ledger_starts_while_the_database_is_away(postgres: Postgres) -> None:
    place = DatabasePlace(postgres.new_database(), LONG)
    with Book(place.storage()) as book:
        assert [book.poll(count) for count in (40, 45)] == [0, 5]
    postgres.stop()
    try:
        book = Book(place.storage())
        assert book.poll(46) is None
    finally:
        postgres.start()
    with book:
        assert book.poll(50) == 10


def test_a_transaction_pooler_may_stand_in_between(postgres: Postgres) -> None:
    name = postgres.new_database().rpartition("/")[2]
    with postgres.pooled(name) as url:
        place = DatabasePlace(url)
        with Book(place.storage()) as book:
            assert [book.poll(count) for count in range(40, 60)] == [*range(20)]
            with pytest.raises(AssertionError, match="held"), Book(place.storage(), attempts=1):
                pass
        with Book(place.storage()) as book:
            assert book.poll(61) == 21


def test_random_rows_come_back(database: StateDatabase) -> None:
    chance = random.Random(4)  # noqa: S311 - repeatable
    epoch = database.claim(FIRST)
    expected: dict[PollKey, Stored] = {}
    for _ in range(30):
        rows: dict[PollKey, Stored | None] = {}
        for _ in range(chance.randrange(40)):
            key = key_of(str(chance.randrange(60)))
            row = Stored(chr(chance.randrange(1, 0xD7FF)), chance.uniform(0, 1e10), chance.randbytes(20))
            rows[key] = None if chance.random() < 0.3 else row
        database.commit(rows, FIRST, epoch)
        expected |= {key: row for key, row in rows.items() if row is not None}
        for key in [key for key, row in rows.items() if row is None]:
            expected.pop(key, None)
    assert database.rows(FIRST) == expected
    database.close()
