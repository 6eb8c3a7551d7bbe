"""Parses a page as a browser does; and dangerous names of resources."""

from html.parser import HTMLParser

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "attribute": '" onmouseover="alert(1)" x="',
    "quotes": "'><img src=x onerror=alert(1)>",
    "comment": "--><!--]]>&amp;</title></style>",
    "newlines": "a\r\nb\tc\u2028d",
    "nul": "a\0b\x1b[31m\x7f",
    "direction": "\u202egnp.exe\u2066",
    "surrogate": "lone \ud800",
    "long": "x" * 10_240,
}
VOID = frozenset({"meta", "link", "img", "input", "path", "circle", "rect", "br", "wbr"})


CELLS = frozenset({"th", "td", "dd", "option"})
BLOCKS = frozenset(
    {"h1", "h2", "p", "li", "tr", "dl", "form", "nav", "main", "label", "figcaption", "button", "caption"}
)


class Page(HTMLParser):
    """A parsed page: every tag with its attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self._read: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag."""
        assert len({name for name, _ in attrs}) == len(attrs)
        own = {name: value or "" for name, value in attrs}
        self.tags.append((tag, own))
        self._read.append(" | " if tag in CELLS else "\n" if tag in BLOCKS else "" if tag == "wbr" else " ")
        if (kind := own.get("class", "")).startswith("verdict"):
            self._read.append(f"({kind}) ")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Record the end of a tag."""
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Record text."""
        self.texts.append(data)
        self._read.append(data.replace("\n", " "))

    def having(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        """Return the attributes of every tag of this name that has these attributes."""
        wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
        return [own for name, own in self.tags if name == tag and wanted.items() <= own.items()]

    @property
    def lines(self) -> str:
        """Return the text as it is read: a line for each paragraph, item and row, with a bar between cells."""
        return "\n".join(filter(None, (" ".join(line.split()) for line in "".join(self._read).split("\n")))) + "\n"

    @property
    def text(self) -> str:
        """Return all text."""
        return "".join(self.texts)
