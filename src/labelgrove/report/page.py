"""One self-contained HTML file: light, dark, on a phone and on paper.

Nothing on a page comes from elsewhere, and the page itself forbids it: its content security
policy lets in neither a script nor anything from a network, whatever a label may be called.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Section:
    """A part of a page, with a line in its table of contents.

    Parameters
    ----------
    title
        The heading, as plain text.
    body
        What stands below it, as HTML.
    id
        What a link to it ends in; made of the title by default.
    """

    title: str
    body: str
    id: str = ""


def page(title: str, sections: Sequence[Section], *, lead: str = "") -> str:
    """Return a whole page.

    Parameters
    ----------
    title
        The heading and the window's title, as plain text.
    sections
        The parts, in order.
    lead
        What stands between heading and table of contents, as HTML.

    Examples
    --------
    >>> found = page("Trees", [Section("Oaks & elms", "<p>Tall.</p>")])
    >>> '<h2 id="oaks-elms">Oaks &amp; elms</h2>' in found
    True
    """
    ids = _ids(sections)
    pairs = list(zip(ids, sections, strict=True))
    links = "\n".join(f'<li><a href="#{name}">{text(each.title)}</a></li>' for name, each in pairs)
    parts = "\n".join(
        f'<section aria-labelledby="{name}">\n<h2 id="{name}">{text(each.title)}</h2>\n'
        f"{each.body}\n</section>"
        for name, each in pairs
    )
    contents = f'<nav aria-label="Contents">\n<ol>\n{links}\n</ol>\n</nav>' if pairs else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{text(title)}</title>
<style>
{_style()}</style>
</head>
<body>
<header>
<h1>{text(title)}</h1>
{lead}
</header>
{contents}
<main>
{parts}
</main>
</body>
</html>
"""


def text(value: object) -> str:
    """Return a value as text that a page shows as it is, also within an attribute.

    Examples
    --------
    >>> text("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return escape(str(value))


def paragraph(value: object, *, kind: str = "") -> str:
    """Return plain text as a paragraph; ``kind`` is a class of the style such as ``"note"``."""
    return f'<p class="{kind}">{text(value)}</p>' if kind else f"<p>{text(value)}</p>"


def captioned(figure: str, caption: str) -> str:
    """Return a figure with a caption, which is HTML."""
    return f"<figure>\n{figure}\n<figcaption>{caption}</figcaption>\n</figure>"


def beside(parts: Sequence[str]) -> str:
    """Return figures or tables in columns, as many as the screen has room for."""
    return '<div class="beside">\n' + "\n".join(parts) + "\n</div>"


def listed(items: Sequence[object], *, kind: str = "") -> str:
    """Return plain texts as a list; ``kind`` is a class of the style such as ``"note"``."""
    start = f'<ul class="{kind}">' if kind else "<ul>"
    return start + "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>"


def _ids(sections: Sequence[Section]) -> list[str]:
    """Return an id for every section, no two alike."""
    ids: list[str] = []
    for each in sections:
        wanted = each.id or re.sub(r"\W+", "-", each.title.lower()).strip("-") or "section"
        name, count = wanted, 1
        while name in ids:
            count += 1
            name = f"{wanted}-{count}"
        ids.append(name)
    return [text(name) for name in ids]


@cache
def _style() -> str:
    return Path(__file__).with_name("page.css").read_text("utf-8")
