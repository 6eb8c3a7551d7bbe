"""Runs the real tools that judge the deployment files."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.deploy.files import REPOSITORY
from tests.waiting import PATIENCE


def run(
    *command: str, cwd: Path = REPOSITORY, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end; what it says and how it ended are for the test to judge."""
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
