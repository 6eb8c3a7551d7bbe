"""Copies the counters' state between the places that two arguments name."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from pydantic import ValidationError

from exporter.commands.output.printing import MISUSE, complain, echo
from exporter.counters.copying import CopyError, WholeFile, copy_state
from exporter.counters.storage import Storage
from exporter.platform.http.mask import is_ambiguous
from exporter.settings.service import StateSettings
from exporter.targets.sharding import Shard
from exporter.wiring.state_storage import lone_storage


def copy_between(source: str, target: str, installation: str) -> None:
    """Copy a state to an empty one, and report how many rows it has.

    Args:
        source: what is copied: a file's name, an address without a password, or @FILE.
        target: where it is copied to, in the same form.
        installation: the name of the exporters in a database.
    """
    origin = _storage("FROM", source, installation, may_be_made=False)
    goal = _storage("TO", target, installation, may_be_made=True)
    try:
        count = copy_state(origin, goal)
    except CopyError as error:
        complain(str(error))
    echo(f"{count} rows copied from {origin().location} to {goal().location}")


def _storage(name: str, text: str, installation: str, *, may_be_made: bool) -> Callable[[], Storage]:
    """Return a function that opens the storage that an argument names."""
    if not text.startswith("@") and "://" not in text:
        return partial(WholeFile, Path(text), may_be_made=may_be_made)
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
