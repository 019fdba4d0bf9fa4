"""``labelgrove train``: a file of texts with labels becomes a tagger."""

from __future__ import annotations

import json
import math
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelgrove.cli import json_file, options

if TYPE_CHECKING:
    from labelgrove.core.types import Estimate, Run

OF_NEURAL = ("device", "precision")  # options that are settings of neural models only


@options.reads_documents
def train(
    source: Annotated[Path, typer.Argument(metavar="TRAIN", help="Documents with labels.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the tagger.")],
    model: Annotated[
        str | None, typer.Option(help="Model; 'labelgrove models' lists them.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Names and hierarchy of the labels: a TSV, or SKOS (.ttl, .rdf)."),
    ] = None,
    valid: Annotated[
        Path | None, typer.Option(help="Held-out documents, instead of a share of TRAIN.")
    ] = None,
    validation: Annotated[
        float | None, typer.Option(help="Share of TRAIN to hold out; 0.1 by default, 0 for none.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the model, or of a view of the text as text.KEY=VALUE; repeatable.",
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(help="Of a neural model: auto, cpu, cuda, cuda:1, mps.", metavar="NAME"),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="Of a neural model: 32, or bf16 for mixed.", metavar="BITS"),
    ] = None,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Tell what a neural model's training will take; no more."),
    ] = False,
    recipe: Annotated[
        str | None,
        typer.Option(
            help="TOML file with model and settings, or a published one by its name, such as "
            "eur-lex/attentionxml; options win over it."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after an interruption: same data and settings.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a tagger in the --out folder.")
    ] = False,
    json_to: json_file.Option = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    *,
    reading: options.Reading,
) -> None:
    """Learn a tagger from documents with labels."""
    from labelgrove.cli.tables import print_scores
    from labelgrove.core import storage
    from labelgrove.core.errors import InputError, StoppedError
    from labelgrove.core.types import Run
    from labelgrove.tagger import training_record

    started = time.monotonic()
    json_file.check(json_to)
    if valid is not None and validation is not None:
        raise typer.BadParameter("give either --valid or --validation")
    out = out.resolve()
    folder = out.with_name(f"{out.name}.run")
    if resume and not overwrite and not folder.exists() and (out / storage.MANIFEST).is_file():
        raise _wrong(f"{out} is finished, there is nothing to resume; --overwrite trains anew")
    if not estimate:
        storage.check_free(out, overwrite=overwrite)
    progress = options.open_progress(quiet)
    corpus = reading.open(source)
    held = reading.open(valid) if valid else None
    given = {"device": device, "precision": precision}
    settings = [*(settings or []), *(f"{key}={json.dumps(v)}" for key, v in given.items() if v)]
    tagger = _tagger(_read_recipe(recipe), settings, model, validation, seed, threads)
    if estimate:
        shown = Run(progress=progress)
        found = tagger.estimate(corpus, vocabulary=labels, validation=held, run=shown)
        json_file.write(json_to, found._asdict())
        if not json_file.alone(json_to):
            print(_told(found))
        return
    run = Run(folder=folder, resume=resume, progress=progress)
    with storage.locked(folder):
        _check_run(run, overwrite)
        try:
            tagger.fit(corpus, vocabulary=labels, validation=held, run=run)
        except KeyboardInterrupt:
            if not storage.holds_work(folder):
                raise
            again = "stopped; the same command with --resume goes on from what was kept"
            raise StoppedError(again) from None
        except InputError:
            if not (resume or storage.holds_work(folder / "model")):
                shutil.rmtree(folder, ignore_errors=True)  # nothing in the corrected one's way
            raise
        options.say_skipped(corpus, held)
        tagger.save(out, overwrite=overwrite, progress=progress)
        shutil.rmtree(folder, ignore_errors=True)  # the tagger is safe: no need of checkpoints
    json_file.write(json_to, training_record(tagger, out, time.monotonic() - started))
    if json_file.alone(json_to):
        return
    if tagger.scores_:
        print_scores(f"{tagger.model_.name} on held-out documents, %", tagger.scores_)
        print(tagger.learned_.told_thresholds())
    print(f"saved to {out}")


def _told(estimate: Estimate) -> str:
    """Return an estimate for a reader."""
    from datetime import timedelta

    spent = timedelta(seconds=math.ceil(estimate.seconds))
    free = "" if estimate.free is None else f" ({estimate.free / 1e9:.1f} GB are free)"
    return (
        f"training will take at most about {spent} (h:mm:ss) "
        f"(early stopping may end it sooner) and {estimate.memory / 1e9:.1f} GB of memory{free}"
    )


def _check_run(run: Run, overwrite: bool) -> None:
    """Neither lose a training that was interrupted nor go on with it unasked."""
    from labelgrove.core.storage import holds_work

    assert run.folder is not None
    if run.resume and not holds_work(run.folder):
        run.progress.say(f"nothing to resume in {run.folder}: starting from the beginning")
    elif holds_work(run.folder) and not run.resume and not overwrite:
        raise _wrong(
            f"{run.folder} holds a training that was interrupted: --resume goes on with it, "
            "--overwrite starts anew"
        )


def _tagger(
    recipe: dict[str, Any],
    settings: list[str],
    model: str | None,
    validation: float | None,
    seed: int,
    threads: int | None,
) -> Any:
    """Build the tagger that a recipe and the options describe together."""
    from labelgrove.models import MODELS
    from labelgrove.tagger import Tagger

    of_model = dict(recipe.get("settings", {}))
    of_views = {view: dict(values) for view, values in recipe.get("features", {}).items()}
    for setting in settings:
        key, value = _parse(setting)
        view, dot, name = key.rpartition(".")
        if dot:
            of_views.setdefault(view, {})[name] = value
        else:
            of_model[name] = value
    defaults = Tagger().get_params(deep=False)
    name = recipe.get("model", defaults["model"]) if model is None else model
    for option in OF_NEURAL:
        if option in of_model and option not in MODELS.find(name).setting_names():
            raise _wrong(f"{name} has no setting {option!r}: --{option} is for neural models")
    classifier = MODELS.create(name, **{"seed": seed, "threads": threads, **of_model})
    share = recipe.get("validation", defaults["validation"]) if validation is None else validation
    return Tagger(
        classifier, features=of_views or None, validation=share, seed=seed, threads=threads
    )


def _parse(setting: str) -> tuple[str, Any]:
    key, equals, text = setting.partition("=")
    if not equals or not key:
        raise _wrong(f"--set takes KEY=VALUE, got {setting!r}")
    try:
        return key, json.loads(text)
    except ValueError:
        return key, text  # a bare word is a string


def _find_recipe(name: str) -> Path:
    """Return the file of that name, or the recipe in the package."""
    folder = Path(__file__).parents[1] / "recipes"
    path, known = Path(name), sorted(folder.glob("*/*.toml"))
    if path.suffix == ".toml" or path.exists():
        return path
    names = {f"{each.parent.name}/{each.stem}": each for each in known}
    if name not in names:
        raise _wrong(f"no recipe {name!r}; give a .toml file, or one of {', '.join(names)}")
    return names[name]


def _read_recipe(name: str | None) -> dict[str, Any]:
    import tomllib

    if name is None:
        return {}
    path = _find_recipe(name)
    try:
        recipe = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _wrong(f"cannot read the recipe {path}: {error.strerror}") from error
    except ValueError as error:
        raise _wrong(f"{path} is not a TOML file: {error}") from error
    kinds: dict[str, Any] = {
        "model": str,
        "validation": (int, float),
        "settings": dict,
        "features": dict,
        "about": dict,
    }
    for key, value in recipe.items():
        if key not in kinds:
            raise _wrong(f"{path}: unknown key {key!r}; known: {', '.join(kinds)}")
        if not isinstance(value, kinds[key]):
            raise _wrong(f"{path}: {key} cannot be {value!r}")
    for view, values in recipe.get("features", {}).items():
        if not isinstance(values, dict):
            raise _wrong(f"{path}: features.{view} must be a table of settings, got {values!r}")
    return recipe


def _wrong(message: str) -> Exception:
    from labelgrove.core.errors import InputError

    return InputError(message)
