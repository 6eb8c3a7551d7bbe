"""The leases in the state database: which process holds which shard, and until when by the database's clock."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import LiteralString, NamedTuple

from exporter.counters.state_database import LOCK, Connection, Group, StateDatabase
from exporter.counters.storage import LeaseHeldError

# Statements about leases are cancelled after this share of a lease's length, so that there is time for another attempt.
_PATIENCE = 1 / 3


class Holding(NamedTuple):
    """A lease that has not ended.

    Attributes:
        shard: the shard's number.
        shards: the number of shards in the holder's configuration.
        holder: the process that holds it.
        epoch: the number of times that the shard has been claimed.
    """

    shard: int
    shards: int
    holder: str
    epoch: int


class Renewal(NamedTuple):
    """The result of a renewal.

    Attributes:
        lost: shards whose leases another process has claimed.
        holdings: all leases of the installation that have not ended.
        members: the running processes that divide the shards among them.
        different: the running processes whose targets have other sources.
        obstacle: why this process may claim no shard; empty if it may.
    """

    lost: frozenset[int]
    holdings: tuple[Holding, ...]
    members: frozenset[str]
    different: frozenset[str] = frozenset()
    obstacle: str = ""


class LeaseTable:
    """Reads and changes leases.

    Args:
        database: a connection.
        group: this process, and the exporters with which it shares the shards.
        configuration: digests of its configuration, from `exporter.wiring.from_settings.digests`.

    Raises:
        StorageError: by all methods: the database cannot be used.
    """

    def __init__(self, database: StateDatabase, group: Group, configuration: str = "{}") -> None:
        self._database = database
        self._group = group
        self._configuration = configuration
        self._seconds = database.lease * _PATIENCE

    def _values(self, held: Mapping[int, int] | None = None, **more: object) -> dict[str, object]:
        common = {"seconds": self._database.lease, "lock": LOCK, "configuration": self._configuration}
        epochs = held or {}
        arrays = {"held_shards": list(epochs), "held_epochs": list(epochs.values())}
        return {**self._group._asdict(), **common, **arrays, **more}

    def claim(self, shard: int) -> int:
        """Claim the lease of one shard if it is free, has ended or belongs to this process; return its epoch.

        Raises:
            LeaseHeldError: another process holds it, or a process with another number of shards, or with another
                address of an account, holds a lease.
        """
        values = self._values(shard=shard, wanted=[shard], most=1, divides=False)
        with self._claiming(values) as connection:
            connection.execute(_JOIN, values)
            row = connection.execute(_CLAIM, values).fetchone()
            if row is None:
                meanwhile = "the lease was claimed by another exporter at the same time"
                raise LeaseHeldError(_obstacle(connection, values) or meanwhile)
            return int(row[1])

    def claim_free(self, most: int, held: Mapping[int, int]) -> dict[int, int]:
        """Claim at most so many free shards at once; return shard → epoch, and nothing while there is an obstacle.

        `held` are the shards that are held already, with their epochs.
        """
        values = self._values(held, wanted=list(range(self._group.shards)), most=most)
        with self._claiming(values) as connection:
            return dict(connection.execute(_CLAIM, values).fetchall())

    def renew(self, held: Mapping[int, int], *, divides: bool | None) -> Renewal:
        """Renew leases for their whole length.

        A lease that has ended is renewed if no process has claimed it, and there is no obstacle.

        Args:
            held: shard → epoch.
            divides: whether the process takes part in dividing the shards; None to leave this as it was.
        """
        # No shard has the number -1: an exporter that claims any shard waits for no single one.
        values = self._values(held, shard=-1, divides=divides)
        with self._database.transaction("renew", self._seconds) as connection:
            if divides is not None:
                connection.execute(_JOIN, values)
            renewed, *others = [
                connection.execute(statement, values) for statement in (_RENEW, _HOLDINGS, _MEMBERS, _DIFFERENT)
            ]
            lost = frozenset(held) - {shard for (shard,) in renewed}
            holdings, members, different = [cursor.fetchall() for cursor in others]
            obstacle = "" if held else _obstacle(connection, values)
        if lost:
            # Of these, renew those that have only ended.
            values = self._values({shard: held[shard] for shard in lost})
            with self._claiming(values) as connection:
                lost -= {shard for (shard,) in connection.execute(_REVIVE, values)}
        return Renewal(
            lost,
            tuple(Holding(*row) for row in holdings),
            frozenset(name for (name,) in members),
            frozenset(name for (name,) in different),
            obstacle,
        )

    def release(self, held: Mapping[int, int], *, leaves: bool = False) -> None:
        """Release leases (shard → epoch), so that others can claim them at once.

        A process that `leaves` ends, and takes no further part in dividing the shards.
        """
        values = self._values(held)
        with self._database.transaction("release", self._seconds) as connection:
            connection.execute(_RELEASE, values)
            if leaves:
                connection.execute(_LEAVE, values)

    @contextmanager
    def _claiming(self, values: Mapping[str, object]) -> Iterator[Connection]:
        """Open a transaction, and prevent other exporters from claiming a lease before it ends."""
        with self._database.transaction("claim", self._seconds) as connection:
            connection.execute(_END_ABANDONED, values)
            # Without this lock, two exporters with different numbers of shards could each find no lease of the other.
            connection.execute("SELECT pg_advisory_xact_lock(%(lock)s)", values)
            yield connection


def _obstacle(connection: Connection, values: Mapping[str, object]) -> str:
    """Return which exporter prevents a claim; empty if none does."""
    row = connection.execute(_HOLDER, values).fetchone()
    if row is None:
        return ""
    shard, shards, holder, seconds, accounts = row
    if accounts is not None:
        return f"{holder} polls {accounts} at another base_url, under the same account name"
    return f"{holder} holds shard {shard} of {shards}; its lease lasts for {max(0.0, float(seconds)):.0f} s"


# An exporter whose machine or network failed in the middle of a transaction keeps its locks. The database's timeouts do
# not end that transaction: none of them runs while the rest of a pipeline is expected, and psycopg sends a flush after
# each sync, which turns off `idle_in_transaction_session_timeout`.
_END_ABANDONED = """
    SELECT pg_terminate_backend(client.pid) FROM pg_stat_activity AS client
    WHERE client.usename = session_user AND client.datname = current_database() AND client.wait_event = 'ClientRead'
      AND client.xact_start < clock_timestamp() - make_interval(secs => %(seconds)s)
      AND EXISTS (
          SELECT FROM pg_locks AS own
          WHERE own.pid = client.pid AND own.granted AND (
              own.relation = to_regclass('edge_exporter_lease') AND own.mode <> 'AccessShareLock'
              OR own.locktype = 'advisory' AND own.objid = %(lock)s
          )
      )
"""

# The accounts that the holder of the lease `other` polls at another address; NULL without any.
_ELSEWHERE = """(
        SELECT string_agg(account.key, ', ' ORDER BY account.key)
        FROM edge_exporter_member AS their, jsonb_each_text(their.configuration -> 'accounts') AS account
        WHERE their.installation = other.installation AND their.holder = other.holder
          AND %(configuration)s::jsonb -> 'accounts' ->> account.key <> account.value
    )"""
_OF_OTHERS = """other.installation = %(installation)s AND other.holder <> %(holder)s
          AND other.expires > clock_timestamp()"""
# A lease with another number of shards blocks all claims, so that no target belongs to two exporters. The same holds
# for another address of an account, so that no counter continues with the values of another platform.
_NO_OTHER: LiteralString = f"""NOT EXISTS (
        SELECT FROM edge_exporter_lease AS other
        WHERE {_OF_OTHERS} AND (other.shards <> %(shards)s OR {_ELSEWHERE} IS NOT NULL)
    )"""
_END = "clock_timestamp() + make_interval(secs => %(seconds)s)"
_CLAIM: LiteralString = f"""
    INSERT INTO edge_exporter_lease AS lease (installation, shard, shards, epoch, holder, expires)
    SELECT %(installation)s, free.shard, %(shards)s, 1, %(holder)s, {_END}
    FROM (
        -- One that is this process's without its knowledge is free: the answer to its claim was lost.
        SELECT shard FROM unnest(%(wanted)s::integer[]) AS shard
        WHERE NOT EXISTS (
            SELECT FROM edge_exporter_lease held
            WHERE held.installation = %(installation)s AND held.shard = shard.shard
              AND held.expires > clock_timestamp() AND held.holder <> %(holder)s
        ) AND shard <> ALL(%(held_shards)s::integer[])
        ORDER BY shard LIMIT %(most)s
    ) AS free
    WHERE {_NO_OTHER}
    ON CONFLICT (installation, shard) DO UPDATE
    SET epoch = lease.epoch + 1, shards = excluded.shards, holder = excluded.holder, expires = excluded.expires
    WHERE lease.expires <= clock_timestamp() OR lease.holder = excluded.holder
    RETURNING shard, epoch
"""  # noqa: S608 - constants of this module
_HOLDER: LiteralString = f"""
    SELECT shard, shards, holder, extract(epoch FROM expires - clock_timestamp()), {_ELSEWHERE}
    FROM edge_exporter_lease AS other
    WHERE {_OF_OTHERS} AND (shard = %(shard)s OR shards <> %(shards)s OR {_ELSEWHERE} IS NOT NULL)
    ORDER BY expires DESC LIMIT 1
"""  # noqa: S608 - constants of this module
_OWN = """
    FROM unnest(%(held_shards)s::integer[], %(held_epochs)s::bigint[]) AS mine (shard, epoch)
    WHERE lease.installation = %(installation)s AND lease.shard = mine.shard AND lease.epoch = mine.epoch
      AND lease.holder = %(holder)s"""
_RENEW: LiteralString = f"""
    UPDATE edge_exporter_lease AS lease SET expires = {_END} {_OWN} AND lease.expires > clock_timestamp()
    RETURNING lease.shard
"""  # noqa: S608 - constants of this module
_REVIVE: LiteralString = f"""
    UPDATE edge_exporter_lease AS lease SET expires = {_END} {_OWN} AND {_NO_OTHER}
    RETURNING lease.shard
"""  # noqa: S608 - constants of this module
_RELEASE: LiteralString = f"UPDATE edge_exporter_lease AS lease SET expires = clock_timestamp() {_OWN}"  # noqa: S608 - constants
_HOLDINGS = """
    SELECT shard, shards, holder, epoch FROM edge_exporter_lease
    WHERE installation = %(installation)s AND expires > clock_timestamp()
    ORDER BY shard
"""
# A member that divides no shards, because its shard is fixed or because it waits, has a negative number of them. No
# version counts it then.
_JOIN: LiteralString = f"""
    INSERT INTO edge_exporter_member AS member (installation, holder, shards, expires, configuration)
    SELECT %(installation)s, %(holder)s, CASE WHEN %(divides)s AND {_NO_OTHER} THEN %(shards)s ELSE -%(shards)s END,
           {_END}, %(configuration)s::jsonb
    ON CONFLICT (installation, holder) DO UPDATE
    SET shards = excluded.shards, expires = excluded.expires, configuration = excluded.configuration
"""  # noqa: S608 - constants of this module
# An exporter that leaves also removes the members whose time ended over a day ago.
_LEAVE = """
    DELETE FROM edge_exporter_member
    WHERE installation = %(installation)s AND (holder = %(holder)s OR expires < clock_timestamp() - interval '1 day')
"""
_MEMBERS = """
    SELECT holder FROM edge_exporter_member
    WHERE installation = %(installation)s AND shards = %(shards)s AND expires > clock_timestamp()
"""
_DIFFERENT = """
    SELECT holder FROM edge_exporter_member
    WHERE installation = %(installation)s AND holder <> %(holder)s AND expires > clock_timestamp()
      AND configuration ->> 'sources' <> %(configuration)s::jsonb ->> 'sources'
"""
