"""The seed data of a world, from `seed.yaml`."""

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

_areas = cache(lambda: yaml.safe_load(files(__package__).joinpath("seed.yaml").read_text(encoding="utf-8")))


def seed(area: str, part: str | None = None) -> Any:  # noqa: ANN401 - any YAML
    """Return the seed data of an area, or of a part of it; it must not be changed."""
    return _areas()[area] if part is None else _areas()[area][part]
