"""A good payload of every operation, as the platform writes it: one file for each, with the operation's name."""

import json
from pathlib import Path
from typing import Any, Final

_FILES: Final = sorted(Path(__file__).parent.glob("*.json"))
GOOD: Final[dict[str, Any]] = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in _FILES}
# They give the same script.
GOOD.update(dict.fromkeys(("script_update", "script_read_by_update"), GOOD["script"]))
