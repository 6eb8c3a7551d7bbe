"""What every test leaves as it was."""

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    """The logs' configuration belongs to the process: a level that one test sets would hide another's lines."""
    yield
    structlog.reset_defaults()
