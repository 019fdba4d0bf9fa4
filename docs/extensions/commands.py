"""``{commands}``: every command with its arguments and options, from the program itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import literal, table

from labelgrove.cli.app import app as program

OPTIONS = "Options"


class Commands(SphinxDirective):
    """A section for each command."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the sections, in the order of ``labelgrove --help``."""
        group: Any = typer.main.get_command(program)
        return [_section(name, command) for name, command in _named(group)]


def _named(group: Any) -> Iterator[tuple[str, Any]]:
    """Yield commands by name; those of a group have its name in front."""
    for name, command in group.commands.items():
        yield name, command
        if hasattr(command, "commands"):
            yield from ((f"{name} {inner}", each) for inner, each in _named(command))


def _section(name: str, command: Any) -> nodes.section:
    section = nodes.section(ids=[name.replace(" ", "-")], names=[name])
    section += nodes.title("", "", literal(f"labelgrove {name}"))
    for paragraph in (command.help or "").split("\n\n"):
        section += nodes.paragraph(text=" ".join(paragraph.split()))
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    if arguments:
        rows = [[literal(_metavar(each)), each.help or ""] for each in arguments]
        section += table(["argument", ""], rows)
    panels: dict[str, list[Any]] = {}
    for each in command.params:
        if each.param_type_name == "option" and not each.hidden:
            panels.setdefault(each.rich_help_panel or OPTIONS, []).append(each)
    for panel, options in panels.items():
        rows = [[literal(_names(each)), _default(each), each.help or ""] for each in options]
        section += table([panel.lower(), "default", ""], rows)
    return section


def _metavar(argument: Any) -> str:
    return argument.metavar or argument.name.upper()


def _names(option: Any) -> str:
    return " ".join([", ".join(option.opts), *([option.metavar] if option.metavar else [])])


def _default(option: Any) -> nodes.Node | str:
    if option.required:
        return "must be given"
    if option.is_flag or option.default in (None, []):
        return ""
    return literal(str(option.default))


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
