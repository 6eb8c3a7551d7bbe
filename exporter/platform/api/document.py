"""A JSON answer of unknown shape: detects failures and masks secrets."""

from typing import Any

from pydantic import ValidationError, model_validator

from exporter.platform.http.mask import mask_secrets
from exporter.platform.wire import EnvelopeFault, Wire


class Document(Wire):
    """A JSON document of any shape; the texts of fields whose names suggest a secret are masked."""

    value: Any = None

    @model_validator(mode="before")
    @classmethod
    def _take_all(cls, data: object) -> dict[str, object]:
        return {"value": mask_secrets(data)}

    def failure(self) -> EnvelopeFault | None:
        """The failure of an envelope without data."""
        if not isinstance(self.value, dict) or self.value.get("data") is not None:
            return None
        found = self.value.get("error", self.value.get("errorResponse"))
        fault: dict[str, Any] | None = found if isinstance(found, dict) else None
        if fault is None and self.value.get("success") is False:
            fault = self.value
        try:
            read = None if fault is None else EnvelopeFault.model_validate(fault)
        except ValidationError:
            return EnvelopeFault(message="the answer reports a failure in an undocumented shape")
        return read if read is not None and read.is_failure() else None
