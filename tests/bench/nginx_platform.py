"""The platform of the benchmark: an nginx that answers every zone's statistics from files, which can be replaced."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from exporter.platform.api.global_search import PAGE_SIZE
from tests.bench.measured_process import Child, get, nginx

DAYS = 31
CODES = (1, 2, 5, 15, 16, 28, 65, 257, 6, 12)
# Zones whose ids end in the same two digits have the same answer.
ANSWERS, FIRST_ZONE = 100, 10
SERIES_A_ZONE = 20
_SERVED = """
default_type application/json; location = /requests {{ stub_status; }}
location = /search {{ alias {folder}/search-$arg_from.json; }}
location ~ ^/dnszone/\\d*(\\d\\d)/statistics$ {{ alias {folder}/{answer}.json; }}
"""


@dataclass(frozen=True, slots=True)
class Platform(Child):
    """A running nginx, and the folder of its answers."""

    folder: Path

    def requests(self) -> int:
        """Return the number of answered requests."""
        return int(get(f"{self.url}/requests").split()[9])


@contextmanager
def platform_serving(*, changes: bool) -> Iterator[Platform]:
    """Run the platform until the block ends; where it `changes`, each call of a connection has another answer."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        # With the health series, `SERIES_A_ZONE` of a zone.
        write(folder, 0, CODES[:8] if changes else CODES)
        served = _SERVED.format(folder=folder, answer="$turn" if changes else "$1")
        with nginx(folder, served, "/requests") as child:
            yield Platform(child.pid, child.url, folder)


def write(folder: Path, grown: int, codes: Sequence[int] = CODES) -> None:
    """Replace all answers; today's count is higher by `grown` than in the first answers."""
    for place in range(ANSWERS):
        written = folder / "new"
        written.write_bytes(_answer(place, grown, codes))
        written.replace(folder / f"{place:02}.json")


def write_search(folder: Path, zones: int) -> None:
    """Write the pages of a search that finds so many zones."""
    for begin in range(0, zones, PAGE_SIZE):
        ids = range(FIRST_ZONE + begin, FIRST_ZONE + min(begin + PAGE_SIZE, zones))
        found = [{"Type": "dns", "Id": zone, "Name": f"zone-{zone}.example"} for zone in ids]
        page = {"Query": "", "Total": zones, "From": begin, "Size": len(found), "SearchResults": found}
        (folder / f"search-{begin}.json").write_text(json.dumps(page))


def _answer(place: int, grown: int, codes: Sequence[int]) -> bytes:
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = [(today - timedelta(days=age)).strftime("%Y-%m-%dT%H:%M:%SZ") for age in range(DAYS - 1, -1, -1)]
    total, normal, smart = (
        {day: 1000 + at * 37 + place * each + grown * (day == days[-1]) for at, day in enumerate(days)}
        for each in (3, 2, 1)
    )
    body = {
        "TotalQueriesServed": sum(total.values()),
        "QueriesServedChart": total,
        "NormalQueriesServedChart": normal,
        "SmartQueriesServedChart": smart,
        "QueriesByTypeChart": {str(code): code * 100 + place + grown for code in codes},
    }
    return json.dumps(body, separators=(",", ":")).encode()
