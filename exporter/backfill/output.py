"""A file that grows a target at a time though its families must be contiguous, and survives an interruption."""

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
    """The folder of what is unfinished of a file."""
    return output.with_name(output.name + ".part")


class Spool:
    """One file a family beside the output, and a journal of how far each of them is good.

    A target's lines go to the files first and into the journal last, so that what an interruption cut off is what the
    journal does not vouch for; it is cut off when the work is taken up again.

    Args:
        output: the file that is to be made.
        families: the families, in the order in which they stand in it.
        terms: what an earlier part of the work must have agreed on with this one.

    Raises:
        SpoolError: another process is at it, or it was begun on other terms.
        OSError: the folder cannot be used.
    """

    def __init__(self, output: Path, families: Iterable[FamilyInfo], terms: Mapping[str, object]) -> None:
        self.output = output
        self.folder = parts_of(output)
        self.done: set[str] = set()
        self.samples = 0
        self._families = tuple(families)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._journal = (self.folder / JOURNAL).open("a+b")
        try:
            self._lock()
            self._agree(dict(terms))
            self._files: dict[str, IO[bytes]] = {
                info.name: (self.folder / f"{info.name}.om").open("ab") for info in self._families
            }
            self._recover()
        except BaseException:
            self._journal.close()
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SpoolError(f"another process is making {self.output}") from None

    def _agree(self, terms: dict[str, object]) -> None:
        path = self.folder / TERMS
        if not path.exists():
            fresh = path.with_name(TERMS + ".new")
            fresh.write_text(json.dumps(terms))
            fresh.rename(path)
            return
        former = json.loads(path.read_text())
        if former != terms:
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
            entry = _entry(line)
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
        """Take in all lines of a target.

        Args:
            mark: what the target is known by when the work is taken up again.
            parts: family → its lines.
            samples: how many lines there are.

        Raises:
            OSError: they cannot be written.
        """
        for name, text in parts.items():
            self._files[name].write(text.encode())
            self._files[name].flush()
        sizes = {name: self._files[name].tell() for name in parts}
        self._journal.write(json.dumps({"mark": mark, "sizes": sizes, "samples": samples}).encode() + b"\n")
        self._journal.flush()
        self.done.add(mark)
        self.samples += samples

    def finish(self, *, keep: bool) -> None:
        """Make the output of what is there; `keep` the parts where more may come.

        Raises:
            OSError: it cannot be written.
        """
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
        """Leave the parts as they are."""
        for file in (*self._files.values(), self._journal):
            file.close()


def _entry(line: bytes) -> dict[str, Any] | None:
    """A line of the journal, None where it was cut off."""
    if not line.endswith(b"\n"):
        return None
    try:
        entry: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return entry
