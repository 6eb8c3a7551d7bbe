"""A real PostgreSQL for the tests, and databases in it."""

import fcntl
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from tests.ports import free_port
from tests.real_parts import find
from tests.waiting import PATIENCE, wait_until

USER = "edge"
PASSWORD = "s3cret-of-the-ledger"
# It refuses to run as root.
_UNPRIVILEGED = "nobody"


@dataclass
class Postgres:
    """A running server.

    Attributes:
        folder: the folder of its files.
        port: its port on the loopback.
    """

    folder: Path
    port: int
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _process: "subprocess.Popen[bytes] | None" = None

    @property
    def pid(self) -> int:
        """The process id of the server; each connection has a child process."""
        assert self._process is not None
        return self._process.pid

    def url(self, database: str, port: int | None = None) -> str:
        """Return the address of a database, with the password."""
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{port or self.port}/{database}"

    def new_database(self, encoding: str = "UTF8") -> str:
        """Create an empty database, and return its address."""
        name = f"state_{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0".encode())
        return self.url(name)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [find("postgres"), "-D", self.folder / "data", "-p", str(self.port), "-k", self.folder],
                stdout=log,
                stderr=log,
                user=_user(),
            )
        wait_until(lambda: self.has_ended() or _answers(self.url("postgres")), "PostgreSQL")
        assert not self.has_ended(), (self.folder / "log").read_text()

    def stop(self) -> None:
        """Stop the server like a crash; it recovers from its journal at the next start."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(PATIENCE)

    def has_ended(self) -> bool:
        """Return whether the server is stopped."""
        return self._process is None or self._process.poll() is not None

    @contextmanager
    def pooled(self, database: str) -> Iterator[str]:
        """Yield the address of a database behind a PgBouncer in transaction mode."""
        port = free_port()
        users = self.folder / "users"
        users.write_text(f'"{USER}" "{PASSWORD}"\n')
        config = self.folder / "pgbouncer.ini"
        config.write_text(
            f"[databases]\n{database} = host=127.0.0.1 port={self.port}\n[pgbouncer]\npool_mode = transaction\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = plain\n"
            f"auth_file = {users}\nserver_round_robin = 1\ndefault_pool_size = 3\n"
        )
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen([find("pgbouncer"), config], stdout=log, stderr=log, user=_user())
        url = self.url(database, port)
        try:
            wait_until(lambda: _answers(url), "PgBouncer")
            yield url
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _user() -> str | None:
    return _UNPRIVILEGED if os.geteuid() == 0 else None


@contextmanager
def postgres_running(shared: Path) -> Iterator[Postgres]:
    """Run a server on a free port until the block ends.

    Args:
        shared: a folder, which several processes may share: one of them makes a cluster for all.
    """
    folder = Path(tempfile.mkdtemp(prefix="edge-postgres-"))
    try:
        password = folder / "password"
        password.write_text(PASSWORD)
        if _user() is not None:
            entry = pwd.getpwnam(_UNPRIVILEGED)
            for path in (folder, password):
                os.chown(path, entry.pw_uid, entry.pw_gid)
        with (shared / "postgres.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _put_cluster(folder / "data", shared / "postgres", password)
        server = Postgres(folder, free_port())
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def _put_cluster(data: Path, made: Path, password: Path) -> None:
    """Put a new cluster into a folder: a copy of one that was made before, as `initdb` takes ten times as long."""
    if not made.exists():
        initdb = Path(find("postgres")).with_name("initdb")
        options = ("--no-sync", "--auth=scram-sha-256", f"--username={USER}", f"--pwfile={password}", "--encoding=UTF8")
        subprocess.run(
            [initdb, *options, "--locale=C", "-D", data],
            check=True,
            stdout=subprocess.DEVNULL,
            user=_user(),
            cwd=data.parent,
        )
        with (data / "postgresql.conf").open("a") as settings:
            settings.write("listen_addresses = '127.0.0.1'\nmax_connections = 50\nshared_buffers = '32MB'\n")
            # Not in /dev/shm, where other processes may remove files, and which may be small in a container.
            settings.write("dynamic_shared_memory_type = mmap\n")
    source, copy = (made, data) if made.exists() else (data, made)
    # Keep the owner; otherwise the server does not start.
    subprocess.run(["cp", "-a", source, copy], check=True)
