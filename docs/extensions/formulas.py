"""Formulas as MathML, which browsers draw by themselves: no script, nothing from a network.

docutils translates the LaTeX. A command it does not know fails the build, with the formula.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def visit_inline(writer: Any, node: nodes.math) -> None:
    """Write a formula in a line."""
    writer.body.append(_translated(node, as_block=False))
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula that stands alone."""
    writer.body.append(f'<div class="math">{_translated(node, as_block=True)}</div>')
    raise nodes.SkipNode


def _translated(node: nodes.math | nodes.math_block, *, as_block: bool) -> str:
    formula = node.astext()
    try:
        return str(tex2mathml(formula, as_block=as_block))
    except MathError as error:
        logger.warning("no MathML for %s: %s", formula, error, location=node)
        return ""


def setup(app: Sphinx) -> dict[str, bool]:
    """Make ``html_math_renderer = "mathml"`` known."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
