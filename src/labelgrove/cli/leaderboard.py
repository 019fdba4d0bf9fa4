"""``labelgrove leaderboard``: many models on the same data under a budget of time."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.recipes import read_recipe, settings_of
from labelgrove.cli.terminal import show
from labelgrove.core.errors import InputError

if TYPE_CHECKING:
    from labelgrove.core.progress import Progress
    from labelgrove.leaderboard import Entrant

AT_COMMAS = re.compile(r",(?![^\[]*\])")  # not those of a list of values
AT_SETTINGS = re.compile(r":(?=[\w.]+=)")
EVERY, QUICK, ANY = "all", "fast", "*"


@options.reads_documents
def leaderboard(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for tables and what is finished.")
    ],
    train: Annotated[
        Path | None, typer.Argument(metavar="[TRAIN]", help="Documents with labels to train on.")
    ] = None,
    test: Annotated[
        Path | None, typer.Argument(metavar="[TEST]", help="Documents with labels to test on.")
    ] = None,
    models: Annotated[
        str,
        typer.Option(
            metavar="all|fast|NAME,...",
            help="all models, those whose training takes at most five minutes, or names separated "
            "by commas: of models, with settings as bonsai:max_leaf=50, or of recipes.",
        ),
    ] = QUICK,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="Time for everything together: 2h, 90m, 1h30m.")
    ] = "1h",
    seeds: Annotated[
        int, typer.Option(help="Trainings of each model, with the seeds 0, 1, 2, ...", min=1)
    ] = 3,
    limit: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Most time for one training; by default three times its estimate, at least a "
            "minute.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="MODEL.KEY=VALUE",
            help="A setting of a model, or of its views of the text as MODEL.text.KEY=VALUE; with "
            "* for MODEL of every model that has such a setting; repeatable.",
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Pretrained encoder for the models that need one: a folder, or a name on the "
            "Hugging Face hub.",
        ),
    ] = None,
    papers: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Show the tables of these papers too, their published figures beside yours: "
            "aplc-xlnet, attentionxml, laco, treaderxml.",
        ),
    ] = None,
    joined: Annotated[
        list[Path] | None,
        typer.Option(
            "--join",
            metavar="DIR",
            help="Join finished leaderboards of different data instead; give it for each of them.",
        ),
    ] = None,
    labels: options.Labels = None,
    validation: Annotated[
        float, typer.Option(help="Share of TRAIN to hold out for thresholds and early stopping.")
    ] = 0.1,
    keep_taggers: Annotated[
        bool, typer.Option("--keep-taggers", help="Keep the trained taggers in OUT/taggers.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the leaderboard in OUT: same data.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin again, in place of the leaderboard in OUT.")
    ] = False,
    json_to: json_file.Option = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    *,
    context: typer.Context,
    reading: options.ReadingOptions,
) -> None:
    """Train and score many models on the same data, and make the table of a paper."""
    from labelgrove.leaderboard import leaderboard as compete
    from labelgrove.leaderboard.budget import parse_time
    from labelgrove.leaderboard.tables import record

    json_file.check(json_to)
    shown, command = options.open_progress(quiet), shlex.join(["labelgrove", *context.obj])
    if joined:
        if train is not None:
            raise typer.BadParameter("give documents, or leaderboards to join, not both")
        _join(joined, out, overwrite, json_to, command, shown)
        return
    if train is None or test is None:
        raise typer.BadParameter("give documents to train on and others to test on: TRAIN TEST")
    seconds = parse_time(budget)
    board = compete(
        train,
        test,
        entrants=_entrants(models, settings or []),
        budget=seconds,
        out=out,
        labels=labels,
        reading=reading.arguments(),
        seeds=seeds,
        encoder=encoder,
        validation=validation,
        limit=None if limit is None else parse_time(limit, "--limit"),
        fast=models == QUICK,
        keep_taggers=keep_taggers,
        resume=resume,
        overwrite=overwrite,
        threads=threads,
        papers=[each.strip() for each in (papers or "").split(",") if each.strip()],
        command=command,
        progress=shown,
    )
    json_file.write(json_to, record(board))
    if json_file.alone(json_to):
        return
    from labelgrove.cli.tables import print_report_table
    from labelgrove.leaderboard.tables import notes, tables

    for table in tables(board):
        print_report_table(table)
        show()
    for note in notes(board):
        show(note)
    show(f"written to {out}")


def _join(
    folders: list[Path],
    out: Path,
    overwrite: bool,
    json_to: Path | None,
    command: str,
    progress: Progress,
) -> None:
    from labelgrove.cli.tables import print_report_table
    from labelgrove.leaderboard import join

    found = join(folders, out, overwrite=overwrite, command=command, progress=progress)
    json_file.write(json_to, found.record)
    if json_file.alone(json_to):
        return
    show(found.verdict)
    for table in found.tables:
        show()
        print_report_table(table)
    show()
    for note in found.notes:
        show(note)
    show(f"written to {out}")


def _entrants(models: str, settings: list[str]) -> list[Entrant]:
    """Return who takes part, each with the settings that were given for its model."""
    from labelgrove.leaderboard import Entrant, registered

    own = _settings(settings)
    if models in (EVERY, QUICK):
        found = registered()
    else:
        found = [_entrant(each.strip()) for each in AT_COMMAS.split(models) if each.strip()]
    everyone = own.pop(ANY, [])
    if unused := own.keys() - {each.model for each in found}:
        name = min(unused)
        raise InputError(f"--set {name}.…: {name} is not among the models that are trained")
    for setting in everyone:
        if not any(_has(each.model, setting) for each in found):
            raise InputError(f"--set *.{setting}: none of the models has such a setting")
    result = []
    for each in found:
        base = {"settings": each.settings, "features": each.features}
        shared = [setting for setting in everyone if _has(each.model, setting)]
        of_model, of_views = settings_of(base, [*shared, *own.get(each.model, [])])
        result.append(Entrant(each.name, each.model, of_model, of_views))
    return result


def _has(model: str, setting: str) -> bool:
    """Tell whether a model has a setting; one that cannot be imported has none."""
    from labelgrove.core.errors import MissingExtraError
    from labelgrove.models import MODELS

    try:
        return setting.partition("=")[0] in MODELS.find(model).setting_names()
    except MissingExtraError:
        return False


def _entrant(told: str) -> Entrant:
    """Return the entrant of NAME, NAME:KEY=VALUE:..., or of a recipe."""
    from labelgrove.leaderboard import Entrant

    name, *given = AT_SETTINGS.split(told)
    is_recipe = "/" in name or name.endswith(".toml")
    recipe = read_recipe(name) if is_recipe else {"model": name}
    if "model" not in recipe:
        raise InputError(f"the recipe {name} names no model")
    of_model, of_views = settings_of(recipe, given)
    return Entrant(told, recipe["model"], of_model, of_views)


def _settings(given: list[str]) -> dict[str, list[str]]:
    """Return the settings of each model, as --set of other commands takes them."""
    found: dict[str, list[str]] = {}
    for setting in given:
        model, dot, rest = setting.partition(".")
        if not dot or "=" not in rest:
            raise InputError(f"--set takes MODEL.KEY=VALUE here, got {setting!r}")
        found.setdefault(model, []).append(rest)
    return found
