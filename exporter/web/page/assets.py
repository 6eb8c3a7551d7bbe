"""The page's own files: style sheet, script and icon."""

from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

_TYPES = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file; `version` changes with its content."""

    name: str
    media_type: str
    content: bytes
    version: str

    @property
    def link(self) -> str:
        """The link to it from a page; it changes with the content, so that no cache serves an old one."""
        return f"static/{self.name}?v={self.version}"


def load_assets() -> dict[str, Asset]:
    """Read all of them, by name."""
    folder = files("exporter.web.page") / "static"
    contents = {name: (folder / name).read_bytes() for name in _TYPES}
    return {name: Asset(name, _TYPES[name], it, sha256(it).hexdigest()[:16]) for name, it in contents.items()}
