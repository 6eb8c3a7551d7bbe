"""The tables of the state database, and what is written to them and read from them."""

from collections.abc import Mapping, Sequence
from sys import intern
from typing import Any, LiteralString

from exporter.counters.rows import StateRow, columns, whole_text
from exporter.targets.target import PollKey

# Versions 1 and 2 had leases in tables of their own.
SCHEMA_VERSION = 3
# "edge" in ASCII: the advisory lock for changes of the schema.
MIGRATION_LOCK = 0x65646765

HAS_SCHEMA = "SELECT to_regclass('edge_exporter_schema') IS NOT NULL"
VERSION = "SELECT version FROM edge_exporter_schema"
MAY_CREATE = "SELECT has_schema_privilege(current_schema(), 'CREATE')"
# From any earlier version, and from none, to this one.
MIGRATION: tuple[LiteralString, ...] = (
    "CREATE TABLE IF NOT EXISTS edge_exporter_schema (version integer NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS edge_exporter_row (
        installation text NOT NULL, collector text NOT NULL, account text NOT NULL, kind text NOT NULL,
        id text NOT NULL, shard integer NOT NULL, shards integer NOT NULL,
        name text NOT NULL, success double precision NOT NULL, data bytea NOT NULL,
        PRIMARY KEY (installation, collector, account, kind, id)
    )
    """,
    "DROP TABLE IF EXISTS edge_exporter_lease, edge_exporter_member",
    "DELETE FROM edge_exporter_schema",
)
SET_VERSION = "INSERT INTO edge_exporter_schema VALUES (%(version)s)"

# A page of the rows of a shard, in the order of their keys. Included are those that were written for another number of
# shards, as they may be this shard's now, and those of accounts, such as the platform's time, which all shards use.
PAGE = """
    SELECT collector, account, kind, id, name, success, data FROM edge_exporter_row
    WHERE installation = %(installation)s AND (shard = %(index)s OR shards <> %(total)s OR kind = 'account')
      AND (collector, account, kind, id) > (%(collector)s, %(account)s, %(kind)s, %(id)s)
    ORDER BY collector, account, kind, id LIMIT %(most)s
"""
# Nothing is written unless this very session holds the shard's lock. A row that another shard counts is not deleted.
WRITE = """
    WITH own AS MATERIALIZED (
        SELECT FROM pg_stat_get_activity(pg_backend_pid()) AS session
        JOIN pg_locks AS held ON held.pid = session.pid
        WHERE session.pid = %(backend)s AND session.backend_start = %(began)s
          AND held.locktype = 'advisory' AND held.objsubid = 2 AND held.granted
          AND held.classid::bigint = %(shards_class)s AND held.objid::bigint = %(index)s
    ), deleted AS (
        DELETE FROM edge_exporter_row AS old
        USING unnest(
            %(deleted_collector)b::text[], %(deleted_account)b::text[], %(deleted_kind)b::text[], %(deleted_id)b::text[]
        ) AS gone (collector, account, kind, id)
        WHERE EXISTS (SELECT FROM own) AND old.installation = %(installation)s
          AND (old.collector, old.account, old.kind, old.id) = (gone.collector, gone.account, gone.kind, gone.id)
          AND (old.shard = %(index)s OR old.shards <> %(total)s)
    ), written AS (
        INSERT INTO edge_exporter_row (
            installation, collector, account, kind, id, shard, shards, name, success, data
        )
        SELECT %(installation)s, collector, account, kind, id, %(index)s, %(total)s, name, success, data
        FROM unnest(
            %(collector)b::text[], %(account)b::text[], %(kind)b::text[], %(id)b::text[],
            %(name)b::text[], %(success)b::float8[], %(data)b::bytea[]
        ) AS polled (collector, account, kind, id, name, success, data)
        WHERE EXISTS (SELECT FROM own)
        ON CONFLICT (installation, collector, account, kind, id) DO UPDATE
        SET shard = excluded.shard, shards = excluded.shards, name = excluded.name, success = excluded.success,
            data = excluded.data
    )
    SELECT EXISTS (SELECT FROM own)
"""

_KEY = ("collector", "account", "kind", "id")


def key_values(key: PollKey | None) -> dict[str, str]:
    """Return the values of a key's columns; of None, a key before all others."""
    return dict.fromkeys(_KEY, "") if key is None else dict(zip(_KEY, _texts(key), strict=True))


def row_of(found: tuple[Any, ...]) -> tuple[PollKey, StateRow]:
    """Return the row that a query found."""
    collector, account, kind, target_id, name, success, data = found
    # Thousands of rows share these three texts.
    return PollKey.of(intern(collector), intern(account), intern(kind), target_id), StateRow(name, success, data)


def arrays(rows: Sequence[tuple[PollKey, StateRow | None]]) -> Mapping[str, object]:
    """Return rows as arrays, one for each column: the rows to write, and the keys of those to delete."""
    # A text that PostgreSQL cannot store is changed, and may then equal the key of another row.
    kept = {_texts(key): row for key, row in rows if row is not None}
    deleted = [_texts(key) for key, row in rows if row is None]
    return {
        **{name: [texts[place] for texts in kept] for place, name in enumerate(_KEY)},
        **{f"deleted_{name}": [texts[place] for texts in deleted] for place, name in enumerate(_KEY)},
        "name": [_text(row.name) for row in kept.values()],
        "success": [row.success for row in kept.values()],
        "data": [row.data for row in kept.values()],
    }


def _texts(key: PollKey) -> tuple[str, ...]:
    return tuple(map(_text, columns(key)))


def _text(text: str) -> str:
    # PostgreSQL cannot store a zero character in a text.
    return whole_text(text).replace("\0", "?")
