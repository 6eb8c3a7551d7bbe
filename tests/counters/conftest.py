"""What several tests of the counters start."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.counters.sandboxed_daemons import SandboxedDaemons


@pytest.fixture
async def sandboxed(tmp_path: Path) -> AsyncIterator[SandboxedDaemons]:
    """A sandbox that runs, for daemons that keep their state in the test's folder."""
    made = SandboxedDaemons(tmp_path)
    await made.sandbox.start()
    yield made
    await made.sandbox.stop()
