"""Collects lines by target, writes them by family, and can continue after an interruption."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from exporter.backfill.samples import head
from exporter.metric import FamilyInfo

JOURNAL, TERMS = "journal", "terms.json"
COPY_BYTES = 1024 * 1024


class SpoolError(Exception):
    """The spool cannot be used; the message says what to do."""


def parts_of(output: Path) -> Path:
    """Return the folder of the unfinished parts of a file."""
    return output.with_name(output.name + ".part")


class Spool:
    """A file for each family, in a folder next to the output, and a journal of their valid sizes.

    The lines of a target are written to these files first and to the journal last. After an interruption, lines that
    the journal does not list are removed, and the work continues with the next target. The terms are the arguments,
    which must be the same when the work is resumed.

    Raises:
        SpoolError: another process makes the output, or an earlier run had other arguments.
        OSError: the folder cannot be used.
    """

    def __init__(self, output: Path, families: Iterable[FamilyInfo], terms: Mapping[str, object]) -> None:
        self.output = output
        self.folder = parts_of(output)
        self.done: set[str] = set()
        self.samples = 0
        self._families = tuple(families)
        self._files: dict[str, IO[bytes]] = {}
        self.folder.mkdir(parents=True, exist_ok=True)
        self._journal = (self.folder / JOURNAL).open("a+b")
        try:
            fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._agree(dict(terms))
            for info in self._families:
                self._files[info.name] = (self.folder / f"{info.name}.om").open("ab")
            self._recover()
        except BlockingIOError:
            self.close()
            raise SpoolError(f"another process is making {self.output}") from None
        except BaseException:
            self.close()
            raise

    def _agree(self, terms: dict[str, object]) -> None:
        path = self.folder / TERMS
        if not path.exists():
            fresh = path.with_name(TERMS + ".new")
            fresh.write_text(json.dumps(terms))
            fresh.rename(path)
        elif (former := json.loads(path.read_text())) != terms:
            given = ", ".join(f"{name} {value}" for name, value in former.items() if value)
            raise SpoolError(
                f"{self.folder} holds what an earlier run with other arguments left ({given}): "
                "give the same again, or remove it"
            )

    def _recover(self) -> None:
        sizes = {name: file.seek(0, os.SEEK_END) for name, file in self._files.items()}
        good = 0
        offsets = dict.fromkeys(self._files, 0)
        self._journal.seek(0)
        for line in self._journal:
            try:
                entry: dict[str, Any] | None = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                entry = None
            # The line is incomplete, or lists lines that were not written.
            if entry is None or any(entry["sizes"].get(name, 0) > size for name, size in sizes.items()):
                break
            good += len(line)
            offsets |= entry["sizes"]
            self.done.add(entry["mark"])
            self.samples += entry["samples"]
        self._journal.truncate(good)
        self._journal.seek(good)
        for name, file in self._files.items():
            file.truncate(offsets[name])
            file.seek(offsets[name])

    def add(self, mark: str, parts: Mapping[str, str], samples: int) -> None:
        """Add a target: its lines by family, their number, and what identifies it on resuming; raises OSError."""
        for name, text in parts.items():
            self._files[name].write(text.encode())
            self._files[name].flush()
        sizes = {name: self._files[name].tell() for name in parts}
        self._journal.write(json.dumps({"mark": mark, "sizes": sizes, "samples": samples}).encode() + b"\n")
        self._journal.flush()
        self.done.add(mark)
        self.samples += samples

    def finish(self, *, keep: bool) -> None:
        """Make the output from all parts, and keep these if a later run may add more; raises OSError."""
        fresh = self.output.with_name(self.output.name + ".new")
        with fresh.open("wb") as whole:
            for info in self._families:
                path = self.folder / f"{info.name}.om"
                if path.stat().st_size == 0:
                    continue
                whole.write(head(info).encode())
                with path.open("rb") as part:
                    shutil.copyfileobj(part, whole, COPY_BYTES)
            whole.write(b"# EOF\n")
            whole.flush()
            os.fsync(whole.fileno())
        fresh.rename(self.output)
        self.close()
        if not keep:
            shutil.rmtree(self.folder)

    def close(self) -> None:
        """Close the files; the parts are kept."""
        for file in (*self._files.values(), self._journal):
            file.close()
