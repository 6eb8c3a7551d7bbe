"""What several tests of the counters start."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.counters.sandboxed_daemons import SandboxedDaemons, sandboxed_daemons


@pytest.fixture
async def sandboxed(tmp_path: Path) -> AsyncIterator[SandboxedDaemons]:
    """A sandbox that runs, for daemons that keep their state in the test's folder."""
    async with sandboxed_daemons(tmp_path) as made:
        yield made
