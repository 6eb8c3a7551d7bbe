"""The session that holds a shard's lock in a real PostgreSQL, and what it writes."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from unittest.mock import AsyncMock, patch

import psycopg
import pytest

from exporter.clock import boot_seconds
from exporter.counters.ledger import Ledger, PollRecord
from exporter.counters.postgres_storage import PAGE, PostgresStorage
from exporter.counters.rows import StateRow
from exporter.counters.storage import Changes, ShardTakenError, StorageError
from exporter.targets.target import PollKey
from tests import waiting
from tests.counters.ledger_driver import WALL, poll_of, today
from tests.counters.proxy import Proxy
from tests.counters.sharing_processes import until
from tests.postgres import PASSWORD, USER, Postgres

LEASE = 3.0
ROW = StateRow("shop.example", 1.0, b"\x00data")
END_SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'edge-exporter'"


def key_of(number: int) -> PollKey:
    """Return the key of a zone."""
    return PollKey.of("dns_statistics", "main", "dns_zone", f"{number:06}")


@dataclass
class Sessions:
    """Storages on one database, which are closed in the end."""

    url: str
    opened: list[PostgresStorage] = field(default_factory=list)

    def storage(self, *wanted: int, total: int = 2, url: str = "", lease: float = LEASE) -> PostgresStorage:
        """Return a storage that wants one of these shards, by default any."""
        at = url or self.url
        storage = PostgresStorage(lambda: at, "test", total, wanted or range(total), lease=lease)
        self.opened.append(storage)
        return storage

    async def holder(self, *wanted: int, **more: str | float) -> PostgresStorage:
        """Return a storage that has taken a shard, and read its rows."""
        storage = self.storage(*wanted, **more)  # type: ignore[arg-type] # an address
        assert await storage.claim() is not None
        await storage.open()
        return storage

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement beside them."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


@pytest.fixture
async def sessions(postgres: Postgres) -> AsyncIterator[Sessions]:
    made = Sessions(postgres.new_database())
    yield made
    for storage in made.opened:
        await storage.close()


async def until_claimed(storage: PostgresStorage, index: int) -> None:
    """Claim until it succeeds: the server ends the session of a former holder shortly after the holder has ended."""

    async def is_claimed() -> bool:
        return await storage.claim() == index

    await until(is_claimed)


async def prepare(storage: PostgresStorage) -> None:
    """Open a storage that is not open."""
    if not await storage.keep_open():
        await storage.open()


async def until_back(holder: PostgresStorage, other: PostgresStorage | None = None) -> None:
    """Wait until a holder has its shard again; if another one has it, a ShardTakenError is raised."""

    async def is_back() -> bool:
        if other is not None:
            await prepare(other)
        try:
            is_lost = not await holder.keep_open()
            await prepare(holder)
        except ShardTakenError:
            raise
        except StorageError:
            return False
        return is_lost

    await until(is_back)


async def test_each_takes_a_free_shard_and_one_too_many_is_a_spare(sessions: Sessions) -> None:
    first, second, third = sessions.storage(), sessions.storage(1), sessions.storage()
    assert [await one.claim() for one in (second, first, third)] == [1, 0, None]
    assert third.obstacle == "2 of 2 shards are held"
    wants_second = sessions.storage(1, lease=30.0)
    for obstacle in ("shard 1 of 2 is held", "the shards are left to their former holders for now"):
        assert (await wants_second.claim(), wants_second.obstacle) == (None, obstacle)
        await wants_second.close()
    # As if the first exporter locked its shard only after the third has asked which ones are held.
    with patch.object(third.locks, "read", AsyncMock(return_value={1})):
        assert await third.claim() is None
    await second.close()
    await until_claimed(third, 1)
    assert third.obstacle == ""


async def test_rows_are_written_in_pages_and_deleted_by_their_holder_alone(sessions: Sessions) -> None:
    first = await sessions.holder(0)
    await first.commit(dict.fromkeys(map(key_of, range(2 * PAGE + 1)), ROW))
    # PostgreSQL stores neither half a character nor a zero character.
    odd = ROW._replace(name="a\ud800\0")
    # Each shard reads the rows that belong to an account, but not those of a target that is an account.
    of_account = {PollKey.of("platform_time", "main", "account", ""): ROW}
    of_target = {PollKey.of("invoices", "main", "account", "main"): ROW}
    deleted = dict.fromkeys(map(key_of, range(PAGE + 1)))
    await first.commit({**deleted, key_of(2 * PAGE): odd, **of_account, **of_target})
    await first.close()
    await until_claimed(again := sessions.storage(0), 0)
    opened = await again.open()
    assert opened.keys() == set(map(key_of, range(PAGE + 1, 2 * PAGE + 1))) | of_account.keys() | of_target.keys()
    assert (opened[key_of(PAGE + 1)], opened[key_of(2 * PAGE)].name) == (ROW, "a??")
    other = await sessions.holder(1)
    assert await other.open() == of_account
    kept = dict.fromkeys(of_target, ROW._replace(name="other"))
    await other.commit({key_of(PAGE + 1): None, **kept}, takes_over=False)
    # Another installation has shards and rows of its own.
    apart = sessions.storage(0)
    apart.locks.installation = "apart"
    assert (await apart.claim(), await apart.open(), await apart.read([key_of(0).collector])) == (0, {}, {})
    await apart.commit({key_of(PAGE + 1): None})
    counts = "SELECT count(*), count(*) FILTER (WHERE name = 'other') FROM edge_exporter_row"
    assert sessions.execute(counts) == [(PAGE + 2, 0)]


async def test_rows_of_another_number_of_shards_are_read_by_each(sessions: Sessions) -> None:
    former = await sessions.holder(0)
    await former.commit({key_of(1): ROW})
    await former.close()
    await until_claimed(storage := sessions.storage(2, total=3), 2)
    assert await storage.open() == {key_of(1): ROW}
    await storage.commit({key_of(1): None})
    assert await storage.open() == {}


async def test_a_silent_holder_is_uncertain_before_the_server_frees_its_shard(sessions: Sessions) -> None:
    holder, spare = await sessions.holder(0, 1), sessions.storage(0)
    assert holder.is_certain()
    await waiting.until(lambda: not holder.is_certain())
    assert await spare.claim() is None
    await until_claimed(spare, 0)
    with pytest.raises(StorageError):
        await holder.commit({key_of(1): ROW})
    with pytest.raises(ShardTakenError):
        await until_back(holder, spare)
    assert sessions.execute("SELECT count(*) FROM edge_exporter_row") == [(0,)]


async def test_a_lost_session_is_opened_again_and_reads_its_rows_anew(sessions: Sessions) -> None:
    holder = await sessions.holder(0)
    await holder.commit({key_of(1): ROW})
    sessions.execute(END_SESSIONS)
    await waiting.until(lambda: not holder.is_certain())
    assert (await holder.open(), holder.is_certain()) == ({key_of(1): ROW}, True)
    sessions.execute("ALTER TABLE edge_exporter_row ADD CHECK (false) NOT VALID")
    with pytest.raises(StorageError, match="violates check constraint"):
        await holder.commit({key_of(2): ROW})
    assert not holder.is_certain()
    assert await sessions.storage(0).claim() is None, "a spare took the shard"
    assert (await holder.open(), holder.is_certain()) == ({key_of(1): ROW}, True)


async def test_a_ledger_whose_rows_another_has_counted_serves_and_writes_nothing_more(sessions: Sessions) -> None:
    def poll_of_account(count: float) -> PollRecord:
        return poll_of("102", today(count))._replace(key=PollKey.of("invoices", "main", "account", "main"))

    storage = sessions.storage(0)
    await storage.claim()
    ledger = Ledger(storage, linger=0.1, retry=0.1)
    await ledger.open()
    ledger.platform_time("main").restore(WALL)
    ledger.store_list("main", "dns_zone", b"an old list")
    await ledger.record(poll_of_account(40))
    commit = storage.commit

    async def unanswered(changes: Changes, *, takes_over: bool = True) -> None:
        storage.commit = commit  # type: ignore[method-assign]
        await commit(changes, takes_over=takes_over)
        sessions.execute(END_SESSIONS)
        raise StorageError("the answer was lost")

    storage.commit = unanswered  # type: ignore[method-assign]
    await ledger.record(poll_of_account(45))
    await waiting.until(lambda: ledger.is_taken or not ledger.fault)
    assert ledger.may_serve(), "its own rows were written"
    opened = storage.open

    async def open_slowly() -> dict[PollKey, StateRow]:
        await asyncio.sleep(0.5)
        return await opened()

    async def end_session() -> bool:
        sessions.execute(END_SESSIONS)
        await waiting.until(lambda: not storage.is_certain())
        await waiting.until(lambda: ledger.is_taken or ledger.may_serve())
        return ledger.is_taken

    # As if the target had moved to another shard, and later back.
    sessions.execute("UPDATE edge_exporter_row SET shard = 1, data = 'of another' WHERE collector <> 'platform_time'")
    assert not await end_session()
    data = "SELECT DISTINCT data FROM edge_exporter_row WHERE collector IN ('invoices', 'list/dns_zone')"
    for poll, is_replaced in ((poll_of("102", today(1)), False), (poll_of_account(47), True)):
        await ledger.record(poll)
        assert (sessions.execute(data) != [(b"of another",)]) is is_replaced
    sessions.execute("UPDATE edge_exporter_row SET data = 'of another' WHERE collector = 'invoices'")
    # The waiting times of polls end at all moments, also right after the slow attempt.
    with patch("exporter.counters.ledger.MOST_WAIT_SECONDS", 0.3), patch.object(storage, "open", open_slowly):
        ending = asyncio.create_task(end_session())
        polls = []
        for _ in range(60):
            polls.append(asyncio.create_task(ledger.record(poll_of_account(50))))
            await asyncio.sleep(0.02)
        await asyncio.gather(*polls)
        assert await ending
    await ledger.record(poll_of_account(60))
    assert not ledger.may_serve()
    await ledger.close()
    assert sessions.execute(data) == [(b"of another",)]


async def test_a_holder_asks_in_time_and_waits_while_its_former_session_may_last(sessions: Sessions) -> None:
    holder, other = await sessions.holder(0, lease=300.0), sessions.storage(0)
    await sessions.holder(1, lease=300.0)
    # A statement is sent, and finds the other shard held, if the last one was most of a pulse (100 s) ago.
    for later, held in ((5.0, {0}), (90.0, {0, 1})):
        with patch.object(holder, "_clock", return_value=boot_seconds() + later):
            assert (await holder.keep_open(), holder.locks.held) == (True, held)
    sessions.execute(END_SESSIONS)
    await until_claimed(other, 0)
    # The former session may last for 400 seconds.
    clock = patch.object(holder, "_clock", lambda: boot_seconds() + 200.0)
    with clock, pytest.raises(StorageError, match="the shard is held by another session"):
        await holder.open()
    await other.close()
    await until_back(holder)


async def test_a_lost_holder_gives_way_to_exporters_of_another_total(sessions: Sessions) -> None:
    holder, other = await sessions.holder(), sessions.storage(total=3)
    sessions.execute(END_SESSIONS)
    await until_claimed(other, 0)
    with pytest.raises(ShardTakenError):
        await until_back(holder, other)


async def test_a_session_that_hangs_in_a_proxy_is_replaced_by_its_own_process(
    sessions: Sessions, postgres: Postgres
) -> None:
    proxy = Proxy(postgres.port)
    await proxy.start()
    holder = await sessions.holder(url=postgres.url(sessions.url.rpartition("/")[2], proxy.port))
    proxy.hang()
    with pytest.raises(StorageError, match="no answer within"):
        await holder.commit({key_of(1): ROW})
    assert not holder.is_certain()
    proxy.pass_on()
    await proxy.stop()
    with pytest.raises(StorageError):
        await holder.open()
    assert holder.locks.held is None
    await proxy.start()
    await until_back(holder)
    assert holder.is_certain()
    await proxy.stop()


async def test_a_role_that_may_not_create_the_table_may_use_one(sessions: Sessions) -> None:
    name = sessions.url.rpartition("/")[2]
    sessions.execute(f"CREATE ROLE user_of_{name} LOGIN PASSWORD '{PASSWORD}'")
    sessions.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    guest = sessions.storage(0, url=sessions.url.replace(f"{USER}:", f"user_of_{name}:"), lease=600.0)
    with pytest.raises(StorageError, match="the role cannot create a table; expected a schema in which"):
        await guest.check()
    await sessions.holder(1)
    sessions.execute(f"GRANT ALL ON edge_exporter_row TO user_of_{name}")
    await guest.check()
    assert (await guest.claim(), await guest.open()) == (0, {})
    sessions.execute(f"REVOKE ALL ON edge_exporter_row FROM user_of_{name}")
    with pytest.raises(StorageError, match="permission denied"):
        await guest.commit({key_of(1): ROW})
    # The shard is free for an exporter with another role, or for a new session with a new address.
    await until_claimed(sessions.storage(0), 0)


async def test_a_database_that_cannot_store_every_row_is_refused(postgres: Postgres, sessions: Sessions) -> None:
    refusals = {
        postgres.new_database("LATIN1"): "encoding of the database is LATIN1, which cannot store",
        postgres.new_database("SQL_ASCII"): "encoding of the database is SQL_ASCII, which cannot store",
        f"{sessions.url}?options=-cdefault_transaction_read_only%3Don": "session is read-only",
    }
    for url, problem in refusals.items():
        for refused in (sessions.storage(url=url).claim(), sessions.storage(url=url).check()):
            with pytest.raises(StorageError, match=problem):
                await refused


async def test_a_socket_and_a_wrong_address_are_refused_without_the_password(
    sessions: Sessions, postgres: Postgres
) -> None:
    name = sessions.url.rpartition("/")[2]
    local = f"postgresql://edge:{'x' * 9}@/{name}?host={postgres.folder}&port={postgres.port}"
    no_host = f"postgresql://edge:{'x' * 9}@a..b/{name}", "label empty"
    for url, words in ((local, "password authentication failed"), (sessions.url.replace("@", "x@"), "auth"), no_host):
        with pytest.raises(StorageError, match=words) as refused:
            await sessions.storage(url=url).claim()
        assert "x" * 9 not in str(refused.value)
    with pytest.raises(StorageError, match="a Unix socket is used, where the server does not notice a lost exporter"):
        await sessions.storage(url=local.replace("x" * 9, PASSWORD)).claim()


@pytest.mark.real
async def test_a_pooler_in_transaction_mode_is_named_the_second_time(sessions: Sessions, postgres: Postgres) -> None:
    with postgres.pooled(sessions.url.rpartition("/")[2]) as url:
        first, second = sessions.storage(url=url), sessions.storage(url=url)
        said: list[str] = []
        async with asyncio.timeout(waiting.PATIENCE):
            while not any("transaction mode" in words for words in said):
                for storage in (first, second):
                    try:
                        await (prepare(storage) if storage.index is not None else storage.claim())
                    except StorageError as error:
                        said.append(str(error))
                await asyncio.sleep(LEASE / 6)
        assert sessions.execute("SELECT count(*) FROM edge_exporter_row") == [(0,)]
