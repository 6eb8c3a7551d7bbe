"""The constant data of the sandbox, from `seed.yaml` and `payloads/`."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@cache
def _areas() -> dict[str, Any]:
    areas: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("seed.yaml").read_text(encoding="utf-8"))
    return areas


def seed(area: str, part: str | None = None) -> Any:  # noqa: ANN401 - any YAML
    """Return the data of an area in `seed.yaml`, or of a part of the area; the caller must not change the data."""
    return _areas()[area] if part is None else _areas()[area][part]


@cache
def recorded(name: str) -> Any:  # noqa: ANN401 - any JSON
    """Return the content of the file `NAME.json` in `payloads/`; the caller must not change the content."""
    return json.loads(files(__package__).joinpath("payloads", f"{name}.json").read_text(encoding="utf-8"))
