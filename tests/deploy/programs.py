"""Runs the real tools that check the deployment files."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.deploy.files import REPOSITORY
from tests.real_parts import PARTS, find
from tests.waiting import PATIENCE


def run(
    program: str, *arguments: str, cwd: Path = REPOSITORY, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end, and return its output and exit code; if it is not installed, the test is skipped."""
    return subprocess.run(
        [find(program) if program in PARTS else program, *arguments],
        cwd=cwd,
        env={**os.environ, **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
