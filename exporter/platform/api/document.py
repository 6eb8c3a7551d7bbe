"""A JSON answer of unknown shape, whose secrets are masked."""

from typing import Any

from pydantic import model_validator

from exporter.platform.http.mask import mask_secrets
from exporter.platform.wire import Wire


class Document(Wire):
    """A JSON document of any shape; the texts of fields whose names suggest a secret are masked."""

    value: Any = None

    @model_validator(mode="before")
    @classmethod
    def _take_all(cls, data: object) -> dict[str, object]:
        return {"value": mask_secrets(data)}

    def has_error(self) -> bool:
        """Return whether it looks like the envelope of a failure."""
        found = self.value if isinstance(self.value, dict) else {}
        errors = (found.get("error"), found.get("errorResponse"))
        return found.get("data") is None and (found.get("success") is False or any(isinstance(e, dict) for e in errors))
