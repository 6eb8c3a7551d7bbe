"""The data of a world: `seed.yaml`, and the recorded good payloads of operations in `payloads/`."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

_areas = cache(lambda: yaml.safe_load(files(__package__).joinpath("seed.yaml").read_text(encoding="utf-8")))


def seed(area: str, part: str | None = None) -> Any:  # noqa: ANN401 - any YAML
    """Return the seed data of an area, or of a part of it; it must not be changed."""
    return _areas()[area] if part is None else _areas()[area][part]


@cache
def recorded(operation: str) -> Any:  # noqa: ANN401 - any JSON
    """Return an operation's good payload, or a list of several for successive resources; it must not be changed."""
    return json.loads(files(__package__).joinpath("payloads", f"{operation}.json").read_text(encoding="utf-8"))
