"""Runs the scenario: `python -m tests.chaos.run [--events 300] [--seed 1] [--json FILE]`."""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from tests.chaos.scenario import Scenario, Size
from tests.postgres import postgres_running


def main() -> int:
    """Run the scenario of the command line; return 1 if a counter differs or fell, or if there were too many calls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=Path("chaos.json"), help="where the figures go")
    given = parser.parse_args()
    size = Size(events=given.events, seed=given.seed)
    with tempfile.TemporaryDirectory() as folder, postgres_running(Path(folder)) as postgres:
        report = asyncio.run(Scenario(size, Path(folder), postgres, say).run())
    text = json.dumps(report, indent=2)
    given.json.write_text(text + "\n")
    say(text)
    return int(
        bool(
            report["differences"]
            or report["falls"]
            or report["call_ratio_without_first_polls"] > 1.05
            or not report["refused"]
        )
    )


def say(text: str) -> None:
    """Print without buffering."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
