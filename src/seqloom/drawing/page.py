"""Self-contained HTML pages with their pictures, style and scripts.

Nothing is fetched from elsewhere, as enforced by the page's own content security policy.
"""

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

__all__ = ["Picture", "bundle", "embed_json", "page", "section", "table"]

PAGE_STYLE = """
:root { --mark: var(--accent); }
body { background: var(--card); }
main { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
h1, h2 { line-height: 1.25; text-wrap: balance; overflow-wrap: anywhere; }
.table { overflow-x: auto; }
table { width: auto; margin: .6rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .8rem .25rem 0; unicode-bidi: plaintext; }
td.number { color: inherit; }
@media (max-width: 36rem) { td { overflow-wrap: anywhere; min-width: 4.5rem; } }
td img { max-width: 16rem; max-height: 8rem; image-rendering: pixelated; }
figure { margin: 1rem 0; overflow-x: auto; }
figure svg { max-width: max(100%, 36rem); height: auto; }
@media (prefers-color-scheme: dark) { figure.drawn svg { filter: invert(.9) hue-rotate(180deg); } }
.headline { font-size: 1.25rem; margin: 0 0 1rem; } .headline strong { color: var(--accent); }
figcaption, .faint { color: var(--faint); font-size: .9rem; }
pre { background: var(--paper); padding: .8rem; overflow-x: auto; line-height: 1.3; }
code { background: var(--paper); } pre code { background: none; }
"""


class Picture(NamedTuple):
    """A picture in a table cell, with its alternative text."""

    words: str
    png: bytes

    def __str__(self) -> str:
        return self.words

    def html(self) -> str:
        """The picture as inline HTML."""
        data = base64.b64encode(self.png).decode()
        return f'<img alt="{html.escape(self.words)}" src="data:image/png;base64,{data}">'


def page(title: str, parts: Iterable[str], *, style: str = "", script: str = "") -> str:
    """A whole page from pieces of HTML; only this script may run."""
    allowed = f"script-src 'sha256-{_digest(script)}'" if script else "script-src 'none'"
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; {allowed}"
    inside = "\n".join(parts)
    code = f"<script>{script}</script>" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_base_style()}{PAGE_STYLE}{style}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{html.escape(title)}</h1>\n{inside}\n</main>\n{code}\n</body>\n</html>\n"
    )


def bundle(*names: str) -> str:
    """Bundle scripts of `drawing/scripts` in the order of their imports."""
    here = files("seqloom.drawing") / "scripts"
    lines = [line for name in names for line in (here / name).read_text("utf-8").splitlines()]
    plain = [line.removeprefix("export ") for line in lines if not line.startswith("import ")]
    return "\n".join(["\n'use strict';", *plain, ""])


def section(heading: str, *pieces: str) -> str:
    """A section of a page."""
    return f"<section>\n<h2>{html.escape(heading)}</h2>\n" + "\n".join(pieces) + "\n</section>"


def table(
    headings: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Sequence[int] = ()
) -> str:
    """A table; the columns `numbers` are right-aligned."""

    def line(cells: Sequence[object], name: str) -> str:
        parts = [
            f'<{name} class="number">{html.escape(str(cell))}</{name}>'
            if number in numbers
            else f'<{name} dir="auto">{_cell_html(cell)}</{name}>'
            for number, cell in enumerate(cells)
        ]
        return f"<tr>{''.join(parts)}</tr>"

    head = line(headings, "th") if headings else ""
    return "<table>\n" + "\n".join([head, *(line(row, "td") for row in rows)]) + "\n</table>"


def _cell_html(cell: object) -> str:
    return cell.html() if isinstance(cell, Picture) else html.escape(str(cell))


def embed_json(name: str, value: Any) -> str:
    """A value as JSON for the page's script, escaped so that no text can end it early."""
    text = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _base_style() -> str:
    return (files("seqloom.drawing") / "scripts" / "base.css").read_text("utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
