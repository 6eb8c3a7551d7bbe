from pathlib import Path

import pytest

from tests.settings.configurations import ACCOUNT, load_text, refusal, write

WITH_IDS = f"{ACCOUNT}    dns_zones: {{ids: [7], ids_file: ids.txt}}\n"


def test_ids_come_from_the_list_then_from_the_file_and_each_once(tmp_path: Path) -> None:
    write(tmp_path, "# zones\n8\n\n 9 # the shop\n7\n8\n", "ids.txt")
    assert load_text(tmp_path, WITH_IDS).accounts[0].dns_zones.all_ids() == (7, 8, 9)


def test_a_file_of_a_hundred_thousand_ids_is_read(tmp_path: Path) -> None:
    write(tmp_path, "\n".join(map(str, range(1, 100_001))), "ids.txt")
    zones = load_text(tmp_path, WITH_IDS).accounts[0].dns_zones
    assert len(zones.all_ids()) == 100_000
    assert len(repr(zones)) < 1000


@pytest.mark.parametrize("line", ["x", "0", "-1", "1.5", "1 2", "9223372036854775808", "٣", "1,2"])
def test_a_line_that_is_no_id_is_named_by_file_and_line(tmp_path: Path, line: str) -> None:
    write(tmp_path, f"1\n# a comment\n{line}\n", "ids.txt")
    assert refusal(tmp_path, WITH_IDS) == [
        f"ids.txt:3: accounts[0].dns_zones.ids_file: found '{line}', expected a whole number from 1"
    ]


def test_every_bad_line_is_told_up_to_a_number_that_can_be_read(tmp_path: Path) -> None:
    write(tmp_path, "bad\n" * 100, "ids.txt")
    faults = refusal(tmp_path, WITH_IDS)
    place = "accounts[0].dns_zones.ids_file"
    assert faults[0] == f"config.yml:5: {place}: ids.txt holds 80 more lines that are not ids"
    assert faults[1:] == [
        f"ids.txt:{line}: {place}: found 'bad', expected a whole number from 1" for line in range(1, 21)
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "does not exist"), (b"\xff", "is not UTF-8 text")],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, problem: str) -> None:
    if content is not None:
        (tmp_path / "ids.txt").write_bytes(content)
    assert refusal(tmp_path, WITH_IDS) == [f"config.yml:5: accounts[0].dns_zones.ids_file: ids.txt {problem}"]


def test_an_empty_file_holds_no_ids(tmp_path: Path) -> None:
    write(tmp_path, "", "ids.txt")
    assert load_text(tmp_path, WITH_IDS).accounts[0].dns_zones.all_ids() == (7,)
