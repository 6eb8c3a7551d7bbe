"""Runs the real tools that check the deployment files."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.deploy.files import REPOSITORY
from tests.waiting import PATIENCE


def run(
    *command: str, cwd: Path = REPOSITORY, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end, and return its output and exit code."""
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
