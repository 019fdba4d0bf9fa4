"""Figures as SVG within a page: text that can be selected, colours that follow the page's."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from io import StringIO
from typing import Any
from warnings import catch_warnings, filterwarnings

from labelgrove.core.extras import need
from labelgrove.report.page import text

# Colours to draw with. Each becomes a variable of the page's style, which has another value in the
# dark; where no such variable is known, the colour itself is seen.
INK = "#1b1f24"
FAINT = "#d3d8de"
SERIES = ("#1d6fb8", "#c2560c", "#2a7d46", "#7c4db8", "#b8323f", "#0c7c86")
VARIABLES = {INK: "--ink", FAINT: "--line"} | {
    colour: f"--series-{number}" for number, colour in enumerate(SERIES, 1)
}
STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "font.size": 11.0,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.fontsize": 10.0,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "patch.edgecolor": INK,
    "text.color": INK,
    "text.parse_math": False,  # a label's name may hold a dollar
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "labelgrove",
}
Draw = Callable[[Any], None]


def drawn(draw: Draw, *, label: str, width: float = 400, height: float = 270) -> str:
    """Return what ``draw`` draws as an ``<svg>`` element for a page.

    Parameters
    ----------
    draw
        Called with matplotlib's axes. Colours are ``INK``, ``FAINT`` and ``SERIES``.
    label
        What the figure shows, for who does not see it.
    width, height
        In units of which letters are 11 high. The figure takes the width that it is given, so
        400 is a good width for a phone.
    """
    figures = need("matplotlib.figure", "report", "a report with figures")
    backend = need("matplotlib.backends.backend_svg", "report", "a report with figures")
    matplotlib = need("matplotlib", "report", "a report with figures")
    with matplotlib.rc_context(), catch_warnings():
        # letters that matplotlib's font lacks are the browser's to draw
        filterwarnings("ignore", message="Glyph .* missing from font")
        matplotlib.rcdefaults()  # without what the user's own settings say
        matplotlib.rcParams.update(STYLE)
        figure = figures.Figure(figsize=(width / 72, height / 72), layout="constrained")
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.set_prop_cycle(color=list(SERIES))
        draw(axes)
        file = StringIO()
        backend.FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None})
    return _inline(file.getvalue(), label)


def grouped(value: float, _position: object = None) -> str:
    """Return a number as an axis shows it: 1,000 and 0.25; for ``set_major_formatter``.

    Examples
    --------
    >>> grouped(10_000.0), grouped(0.25)
    ('10,000', '0.25')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"


def _inline(svg: str, label: str) -> str:
    """Return the element alone, named, scaled, in the page's colours and with ids of its own."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<style[^>]*>[^<]*</style>", "", svg)  # it would hold for the whole page
    prefix = sha256((label + svg).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    svg = re.sub(r"<[^>]+>", lambda tag: _adapted(tag[0], f"f{prefix}-", used), svg)
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None  # matplotlib always writes one
    head = f'<svg {box[0]} role="img" aria-label="{text(label)}">'
    return re.sub(r">\s+<", ">\n<", head + svg[svg.index(">") + 1 :])


def _adapted(tag: str, prefix: str, used: set[str]) -> str:
    """Return a tag with the page's colours and letters; ids that nothing refers to go."""

    def owned(match: re.Match[str]) -> str:
        return f' id="{prefix}{match[1]}"' if match[1] in used else ""

    tag = re.sub(r' id="([^"]+)"', owned, tag.replace("xlink:href", "href"))
    tag = re.sub(r'(href="#|url\(#)', rf"\1{prefix}", tag)
    tag = re.sub(r"(\d\.\d\d)\d+", r"\1", " ".join(tag.split()))
    tag = re.sub(r"font-family:[^;\"]*;?", "", tag)
    tag = re.sub(r"font: ([^;\"]*?px) [^;\"]*", r"font-size: \1", tag)  # until matplotlib 3.9
    for colour, variable in VARIABLES.items():
        tag = tag.replace(colour, f"var({variable}, {colour})")
    return tag
