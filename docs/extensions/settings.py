"""``{settings} NAME``: the settings of a model, from its class, so that they never go stale.

The text inside the directive is for readers of the plain file, and is not shown on the site.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import literal, table

from labelgrove.cli.models import settings
from labelgrove.models import MODELS

COLUMNS = ("setting", "default", "allowed", "tune searches", "meaning")


class Settings(SphinxDirective):
    """Where a model comes from, what it needs, and its settings with their defaults."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a sentence and a table."""
        name = self.arguments[0]
        entry = MODELS.entries()[name]
        rows = [
            [literal(row.setting), literal(row.default), row.allowed, row.range, row.meaning]
            for row in settings(name)
        ]
        return [_origin(entry.paper, entry.extra), table(COLUMNS, rows)]


def _origin(paper: str, extra: str) -> nodes.paragraph:
    found = nodes.paragraph()
    found += nodes.Text(f"Paper: {paper}. " if paper else "")
    found += nodes.Text("Needs the extra " if extra else "Needs no extra.")
    found += [literal(extra), nodes.Text(".")] if extra else []
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known."""
    app.add_directive("settings", Settings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
