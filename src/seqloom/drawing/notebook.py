"""HTML output of views in notebooks, with the notebook's light or dark colours.

Each piece is self-contained: it includes its style, fetches and runs nothing, and shows pictures as
images, so that markup in the data is inert.
"""

import base64
import html
from collections.abc import Iterable
from functools import singledispatch
from typing import Any

from seqloom.display import Displayed, html_of, plain_text_of
from seqloom.drawing.image_files import Drawing
from seqloom.drawing.views import drawing_of, fragment_of, has_drawing, text_details, text_of

__all__ = [
    "details",
    "heading",
    "highlight",
    "notebook_html",
    "notebook_part",
    "paragraph",
    "picture",
]

LIGHT = "--ink: #222; --faint: #666; --line: #ddd; --paper: #fff; --mark: 31, 95, 168;"
DARK = "--ink: #ddd; --faint: #999; --line: #444; --paper: #111; --mark: 110, 170, 240;"
DARK_THEMES = ('[data-jp-theme-light="false"]', ".vscode-dark", 'html[theme="dark"]')
INVERT = "filter: invert(.93) hue-rotate(180deg);"  # inverts black on white, keeping hues
CSS = f"""
.seqloom {{ {LIGHT} }}
@media (prefers-color-scheme: dark) {{
  .seqloom {{ {DARK} }} .seqloom img.drawn {{ {INVERT} }}
}}
[data-jp-theme-light="true"] .seqloom {{ {LIGHT} }}
[data-jp-theme-light="true"] .seqloom img.drawn {{ filter: none; }}
{", ".join(f"{theme} .seqloom" for theme in DARK_THEMES)} {{ {DARK} }}
{", ".join(f"{theme} .seqloom img.drawn" for theme in DARK_THEMES)} {{ {INVERT} }}
.seqloom {{ color: var(--ink); background: var(--paper); font: 14px/1.5 system-ui, sans-serif;
  padding: .3rem .6rem; max-width: 62rem; }}
.seqloom p {{ margin: .3rem 0; unicode-bidi: plaintext; }}
.seqloom p.said {{ font-size: 1.15em; white-space: pre-wrap; overflow-wrap: anywhere; }}
.seqloom .faint {{ color: var(--faint); font-size: .9em; }}
.seqloom h4 {{ margin: .8rem 0 .2rem; font-size: 1em; color: var(--ink); }}
.seqloom table {{ border-collapse: collapse; margin: .4rem 0; color: var(--ink);
  font-variant-numeric: tabular-nums; }}
.seqloom.seqloom tbody tr, .seqloom.seqloom tbody tr:hover {{ background: none; }}
.seqloom.seqloom th, .seqloom.seqloom td {{ padding: .2rem .8rem .2rem 0;
  text-align: left; vertical-align: top;
  border: 0; border-bottom: 1px solid var(--line); unicode-bidi: plaintext; max-width: 40rem;
  overflow-wrap: anywhere; white-space: normal; }}
.seqloom.seqloom th {{ font-weight: 600; color: var(--faint); }}
.seqloom.seqloom td.number, .seqloom.seqloom th.number {{ text-align: right; }}
.seqloom figure {{ margin: .5rem 0; overflow-x: auto; }}
.seqloom img {{ max-width: 100%; height: auto; }}
.seqloom pre {{ margin: .3rem 0; padding: .4rem; overflow-x: auto; line-height: 1.3;
  color: var(--ink); background: none; border: 1px solid var(--line); }}
.seqloom summary {{ color: var(--faint); cursor: pointer; }}
.seqloom progress {{ width: 100%; max-width: 30rem; }}
.seqloom .tokens span {{ padding: .05em .25em; margin: 0 .1em; border-radius: .2em;
  display: inline-block; white-space: pre-wrap; unicode-bidi: isolate; }}
"""


def notebook_html(parts: Iterable[str]) -> str:
    """Combine pieces of HTML into one output, with their style."""
    return f'<div class="seqloom"><style>{CSS}</style>\n' + "\n".join(parts) + "\n</div>"


@singledispatch
def notebook_part(view: Any) -> str:
    """A view as HTML: its picture with the text below it, unless it has its own form."""
    if has_drawing(view):
        return picture(drawing_of(view), text_of(view)) + text_details(view)
    if fragment_of.dispatch(type(view)) is not fragment_of.dispatch(object):
        return fragment_of(view)
    return f"<pre>{html.escape(text_of(view))}</pre>"


@html_of.register
def html_of_displayed(value: Displayed) -> str | None:
    """The HTML of a displayable value; None if the module that renders it is not loaded."""
    if text_of.dispatch(type(value)) is text_of.dispatch(object):
        return None
    return notebook_html([notebook_part(value)])


@plain_text_of.register
def text_of_displayed(value: Displayed) -> str:
    """The text of a displayable value; its fields if the module that renders it is not loaded."""
    known = text_of.dispatch(type(value)) is not text_of.dispatch(object)
    return text_of(value) if known else repr(value)  # type: ignore[arg-type]


def picture(drawing: Drawing, words: str = "") -> str:
    """A drawing as an image; its colours adapt to dark pages, unless it shows media."""
    data = base64.b64encode(drawing.render("svg")).decode()
    name = "" if drawing.shows_media else ' class="drawn"'
    alt = html.escape(words[:200], quote=True)
    return f'<figure><img{name} alt="{alt}" src="data:image/svg+xml;base64,{data}"></figure>'


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of escaped text."""
    name = f' class="{kind}"' if kind else ""
    return f'<p{name} dir="auto">{html.escape(text)}</p>'


def highlight(text: str, words: str, share: float) -> str:
    """A highlighted piece of text, the darker the larger the share, with a tooltip."""
    ground = f"background: rgba(var(--mark), {0.6 * share:.2f})"
    title = html.escape(words, quote=True)
    return f'<span dir="auto" style="{ground}" title="{title}">{html.escape(text)}</span>'


def heading(text: str) -> str:
    """A heading of escaped text."""
    return f"<h4>{html.escape(text)}</h4>"


def details(summary: str, *parts: str) -> str:
    """A collapsible section."""
    inside = "\n".join(parts)
    return f"<details><summary>{html.escape(summary)}</summary>{inside}</details>"
