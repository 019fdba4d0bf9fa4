"""A figure of small multiples, written as SVG.

A panel of growth has logarithmic axes and shows measured points, the line of least squares between
their logarithms, and its slope: the exponent with which the figure grows. A panel of curves has
straight axes and joins the points; one of learning too, over a logarithmic number of documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Literal

import numpy as np

Kind = Literal["growth", "curves", "learning"]
COLUMNS, WIDTH, HEIGHT = 2, 400, 330  # panels in a row, and the size of each
LEFT, RIGHT, TOP, BOTTOM = 62, 18, 92, 46  # what surrounds the plot inside its panel
INK, FAINT, PAPER = "#1f2328", "#d0d7de", "#ffffff"  # on paper of its own, whatever the page's is
# colours that most colour-blind people tell apart, and shapes that show through one another
STYLES = (
    ("#0072b2", "circle"),
    ("#d55e00", "square"),
    ("#00805f", "triangle"),
    ("#9b4f96", "diamond"),
    ("#767676", "circle"),
)

Points = tuple[Sequence[float], Sequence[float]]  # sizes and what was measured, above 0 if growth


@dataclass(frozen=True)
class Panel:
    """One plot: what is measured, the points of each series, and what they are measured over."""

    title: str
    unit: str
    series: Mapping[str, Points]
    across: str
    kind: Kind = "growth"


def power_law(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Return (a, b) of the line log(value) = a log(size) + b, by least squares."""
    slope, height = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(slope), float(height)


def draw(title: str, panels: Sequence[Panel]) -> str:
    """Return the figure."""
    rows = ceil(len(panels) / COLUMNS)
    width, height = COLUMNS * WIDTH, rows * HEIGHT + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="sans-serif" font-size="12" fill="{INK}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>',
        _text(width / 2, 26, title, 'text-anchor="middle" font-size="16" font-weight="bold"'),
    ]
    for i, panel in enumerate(panels):
        x, y = i % COLUMNS * WIDTH, i // COLUMNS * HEIGHT + 34
        parts += [f'<g transform="translate({x},{y})">', *_panel(panel), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel) -> list[str]:
    across = _Axis if panel.kind == "curves" else _LogAxis
    up = _LogAxis if panel.kind == "growth" else _Axis
    shown = {name: points for name, points in panel.series.items() if len(points[0])}
    x = across([size for sizes, _ in shown.values() for size in sizes], LEFT, WIDTH - RIGHT)
    y = up([value for _, values in shown.values() for value in values], HEIGHT - BOTTOM, TOP)
    parts = [_text(LEFT, 20, f"{panel.title}, {panel.unit}", 'font-size="14" font-weight="bold"')]
    for tick in x.ticks():
        parts.append(_line((x.at(tick), TOP), (x.at(tick), HEIGHT - BOTTOM), FAINT, 1))
        parts.append(_text(x.at(tick), HEIGHT - BOTTOM + 17, short(tick), 'text-anchor="middle"'))
    for tick in y.ticks():
        parts.append(_line((LEFT, y.at(tick)), (WIDTH - RIGHT, y.at(tick)), FAINT, 1))
        parts.append(_text(LEFT - 7, y.at(tick) + 4, short(tick), 'text-anchor="end"'))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(_text(middle, HEIGHT - 10, panel.across, 'text-anchor="middle"'))
    for row, (name, (colour, shape)) in enumerate(zip(panel.series, STYLES, strict=False)):
        sizes, values = panel.series[name]
        told = name
        places = [(x.at(size), y.at(value)) for size, value in zip(sizes, values, strict=True)]
        if panel.kind != "growth":
            parts.append(_path(places, colour))
        elif len(set(sizes)) > 1:
            slope, height = power_law(sizes, values)
            told += f": exponent {slope:.2f}"
            ends = [(x.at(n), y.at(float(np.exp(height)) * n**slope)) for n in _ends(sizes)]
            parts.append(_line(*ends, colour, 2))
        if panel.kind != "curves":
            parts += [_mark(*place, colour, shape) for place in places]
        elif places:
            parts.append(_mark(*places[-1], colour, shape))
        # growth is told in words, a line each; names of curves stand side by side
        column, line = (0, row) if panel.kind == "growth" else (row % 2, row // 2)
        left, top = LEFT + 150 * column, 36 + 17 * line
        parts.append(_mark(left + 5, top, colour, shape))
        parts.append(_text(left + 16, top + 4, told))
    return parts


class _Axis:
    """Where values lie between two ends of a straight axis, with a little room beyond both."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        room = 0.04 * (high - low) or 0.5
        self.low, self.high, self.start, self.end = low - room, high + room, start, end

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return three to six round numbers."""
        rough = (self.high - self.low) / 6
        unit = 10.0 ** floor(log10(rough))
        step = unit * min(factor for factor in (1, 2, 5, 10) if factor * unit >= rough)
        return [step * i for i in range(ceil(self.low / step), floor(self.high / step) + 1)]


class _LogAxis(_Axis):
    """The same for a logarithmic axis."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = (log10(min(values)), log10(max(values))) if values else (0.0, 1.0)
        room = max(0.06 * (high - low), (0.7 - (high - low)) / 2)  # never less than a factor of 5
        self.low, self.high, self.start, self.end = low - room, high + room, start, end

    def at(self, value: float) -> float:
        share = (log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        steps = (1,) if self.high - self.low > 2 else (1, 2, 5)
        decades = range(floor(self.low), ceil(self.high) + 1)
        found = [step * 10.0**decade for decade in decades for step in steps]
        return [tick for tick in found if self.low <= log10(tick) <= self.high]


def short(value: float) -> str:
    """Return a number for an axis.

    >>> short(200_000), short(1_000_000), short(0.05)
    ('200k', '1M', '0.05')
    """
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def _ends(sizes: Sequence[float]) -> tuple[float, float]:
    return min(sizes), max(sizes)


def _text(x: float, y: float, text: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'


def _line(start: tuple[float, float], end: tuple[float, float], colour: str, width: float) -> str:
    places = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {places} stroke="{colour}" stroke-width="{width}"/>'


def _path(places: Sequence[tuple[float, float]], colour: str) -> str:
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _mark(x: float, y: float, colour: str, shape: str) -> str:
    style = f'fill="none" stroke="{colour}" stroke-width="2"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" {style}/>'
    if shape == "square":
        return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" {style}/>'
    if shape == "diamond":
        return f'<path d="M{x:.1f},{y - 6:.1f}l5,6l-5,6l-5,-6z" {style}/>'
    corners = f"{x:.1f},{y - 4:.1f} {x - 3.5:.1f},{y + 3:.1f} {x + 3.5:.1f},{y + 3:.1f}"
    return f'<polygon points="{corners}" fill="{colour}"/>'
