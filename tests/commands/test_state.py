"""`state copy`: between a file and a database, exactly."""

from functools import partial
from pathlib import Path

import pytest

from exporter.counters.rows import StateRow
from exporter.counters.state_file import StateFile, StateLock
from exporter.targets.target import PollKey
from tests.commands.shell import Ended, invoke
from tests.counters.ledger_driver import WALL, key_of
from tests.counters.state_locations import DatabaseLocation
from tests.postgres import PASSWORD, Postgres

ROWS = {
    **{
        key_of(str(number)): StateRow(f"zone-{number}.é\ufffd", WALL + number / 7, bytes(range(256)))
        for number in range(300)
    },
    PollKey.of("platform_time", "main", "account", ""): StateRow("", WALL + 0.1, b""),
}


def write(path: Path) -> None:
    """Make a state file, whose names have a character that PostgreSQL cannot store."""
    file = StateFile(path)
    file.commit({key: row._replace(name=row.name.replace("\ufffd", "\0")) for key, row in ROWS.items()})
    file.close()


def read(path: Path) -> dict[PollKey, StateRow]:
    """Return the content of a state file."""
    file = StateFile(path)
    rows = dict(file.rows())
    file.close()
    return rows


copy = partial(invoke, "state", "copy")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    write(path)
    return path


@pytest.fixture
def address(postgres: Postgres, tmp_path: Path) -> str:
    """Return a file with the address of a new database, in the form of an argument."""
    path = tmp_path / "url"
    path.write_text(postgres.new_database() + "\n")
    return f"@{path}"


def test_a_state_goes_to_a_database_and_back_exactly(file: Path, address: str, tmp_path: Path) -> None:
    there = copy(file, address)
    assert (there.code, there.out.split(" copied")[0]) == (0, "301 rows")
    back = copy(address, tmp_path / "back.db")
    assert back.code == 0
    assert read(tmp_path / "back.db") == ROWS
    assert read(file)[key_of("7")].name == "zone-7.é\0"
    assert PASSWORD not in there.out + back.out


def test_an_installation_of_another_name_is_another_state(file: Path, address: str, tmp_path: Path) -> None:
    assert copy(file, address, "--installation", "blue").code == 0
    back = copy(address, tmp_path / "back.db")
    assert (back.code, "holds no rows" in back.err, (tmp_path / "back.db").exists()) == (1, True, False)


def test_a_state_that_holds_rows_is_not_written_over(file: Path, address: str) -> None:
    copy(file, address)
    for arguments in ((file, address), (address, file)):
        again = copy(*arguments)
        assert (again.code, "holds 301 rows already; expected an empty state" in again.err) == (1, True)


def test_a_state_that_an_exporter_uses_is_not_copied(file: Path, address: str, tmp_path: Path) -> None:
    lock = StateLock(file)
    refused = copy(file, address)
    lock.release()
    assert (refused.code, "another exporter" in refused.err) == (1, True)
    copy(file, address)
    place = DatabaseLocation(Path(address[1:]).read_text().strip())
    place.execute(
        "INSERT INTO edge_exporter_lease VALUES ('default', 3, 4, 1, 'pod-3/1', clock_timestamp() + interval '1 h')"
    )
    refused = copy(address, tmp_path / "back.db")
    assert (refused.code, "pod-3/1 holds shard 3 of 4" in refused.err) == (1, True)


def test_a_file_that_is_not_there_or_damaged_is_left_as_it_is(address: str, tmp_path: Path) -> None:
    absent = Ended("", f"{tmp_path}/absent.db: there is no such file\n", 1)
    assert copy(tmp_path / "absent.db", address) == absent
    assert not (tmp_path / "absent.db").exists()
    damaged = tmp_path / "damaged.db"
    damaged.write_text("a note\n" * 1000)
    assert copy(damaged, address).code == 1
    unreachable = copy(damaged, "postgresql://127.0.0.1:1/none")
    assert (unreachable.code, "contains a password" in unreachable.err) == (1, False)
    assert damaged.read_text() == "a note\n" * 1000


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("postgresql://edge:PASSWORD@db/edge", "TO: contains a password"),
        ("postgresql://db/edge?password=PASSWORD", "TO: contains a password"),
        ("postgresql://edge:1/PASSWORD@db/edge", "TO: contains a password"),
        ("postgresql://[PASSWORD", "TO: contains a password"),
        ("@FOLDER/other", "TO: FOLDER/other does not contain the address of"),
        ("@FOLDER/absent", "TO: FOLDER/absent does not exist"),
        ("FOLDER/./state.db", "FROM and TO are the same state"),
        ("FOLDER/link.db", "FROM and TO are the same state"),
    ],
)
def test_a_wrong_argument_is_refused_without_repeating_a_password(
    file: Path, tmp_path: Path, argument: str, said: str
) -> None:
    (tmp_path / "other").write_text(PASSWORD)
    (tmp_path / "link.db").symlink_to(file)
    refused = copy(file, argument.replace("PASSWORD", PASSWORD).replace("FOLDER", str(tmp_path)))
    assert refused.code == 2
    assert said.replace("FOLDER", str(tmp_path)) in refused.err
    assert PASSWORD not in refused.err
