"""`state`: copies the counters' state. In: two places. Out: the second contains what the first contains."""

from collections.abc import Callable
from functools import partial
from os.path import realpath
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import click
from pydantic import ValidationError

from exporter.clock import SYSTEM
from exporter.commands.output.printing import MISUSE, complain, complaining, echo
from exporter.counters.copying import CopyError, copy_state
from exporter.counters.on_thread import BlockingStorage
from exporter.counters.state_file import FileStorage
from exporter.platform.http.mask import is_ambiguous
from exporter.settings.service import StateSettings
from exporter.targets.sharding import Shard
from exporter.wiring.state_storage import lone_storage


@click.group("state")
def command() -> None:
    """Copy the counters' state between a state file and a state database.

    Exit codes: 0 it is copied; 1 it is not, and standard error says why; 2 misuse.
    """


@command.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--installation", default="default", show_default=True, help="The name in state.installation.")
def copy(source: str, target: str, installation: str) -> None:
    """Copy every counter from one state to another that is empty, exactly.

    FROM and TO are each a state file's name, the address of a PostgreSQL without a password (which then comes from
    PGPASSWORD or ~/.pgpass), or @FILE, a file that holds the address with its password.

    No exporter may run on either. The copy is read again and compared; FROM is not changed.

    Exit codes: 0 all of it is copied; 1 it is not, and standard error says why; 2 an argument is wrong.
    """
    origin = _storage("FROM", source, installation, may_be_made=False)
    goal = _storage("TO", target, installation, may_be_made=True)
    if realpath(source) == realpath(target):
        complain("FROM and TO are the same state", MISUSE)
    with complaining(CopyError):
        count = copy_state(origin, goal)
    echo(f"{count} rows copied from {origin().location} to {goal().location}")


def _storage(name: str, text: str, installation: str, *, may_be_made: bool) -> Callable[[], BlockingStorage]:
    """Return a function that opens the storage that an argument names."""
    if not text.startswith("@") and "://" not in text:
        path = Path(text)
        if not may_be_made and not path.exists():
            complain(f"{path}: there is no such file")
        return partial(FileStorage, path, SYSTEM.wall, None)
    if not text.startswith("@") and _holds_password(text):
        message = "contains a password, which other users can see; write the address to a file, and name that as @FILE"
        complain(f"{name}: {message}", MISUSE)
    given = {"url_file": text[1:]} if text.startswith("@") else {"url": text}
    try:
        state = StateSettings.model_validate({**given, "installation": installation})
    except ValidationError as error:
        complain(f"{name}: {error.errors()[0]['msg']}", MISUSE)
    return partial(lone_storage, state, Shard())


def _holds_password(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return True
    return is_ambiguous(address) or parts.password is not None or "password" in parse_qs(parts.query)
