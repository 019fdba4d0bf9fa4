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
from labelgrove.cli.clusters import cpus_of, opened_workers
from labelgrove.cli.recipes import read_recipe, settings_of
from labelgrove.cli.terminal import show
from labelgrove.core.errors import ClusterError, InputError, StoppedError

if TYPE_CHECKING:
    from labelgrove.core.progress import Progress
    from labelgrove.core.types import Estimate, Run
    from labelgrove.corpus import Corpus
    from labelgrove.tagger import Tagger

OF_NEURAL = ("device", "precision")  # options that are settings of neural models only


@options.reads_documents
def train(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the tagger.")],
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TRAIN]",
            help="Documents with labels. Without any, --labels is all there is to learn from.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model; 'labelgrove models' lists them. grove by default, and bonsai for files of "
            "features instead of texts."
        ),
    ] = None,
    labels: options.Labels = None,
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
        typer.Option(
            "--estimate",
            help="Tell how long the training will take and how much memory, with --cluster on its "
            "CPUs too; no more. Neural and linear models can tell.",
        ),
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
    overwrite: options.Overwrite = False,
    cluster: options.Cluster = None,
    json_to: json_file.Option = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Learn a tagger from documents with labels."""
    from labelgrove.core import storage
    from labelgrove.core.manifest import MANIFEST
    from labelgrove.core.run_folders import run_folder
    from labelgrove.core.threads import workers
    from labelgrove.core.types import Run
    from labelgrove.tagger import training_record

    started = time.monotonic()
    json_file.check(json_to)
    if valid is not None and validation is not None:
        raise typer.BadParameter("give either --valid or --validation")
    out = out.resolve()
    if not out.name:
        raise InputError(f"--out {out} is no folder for a tagger; choose a folder in it")
    folder = run_folder(out)
    if resume and not overwrite and not folder.exists() and (out / MANIFEST).is_file():
        raise InputError(f"{out} is finished, there is nothing to resume; --overwrite trains anew")
    if not estimate:
        storage.check_free(out, overwrite=overwrite)
    progress = options.open_progress(quiet)
    corpus = _documents(source, labels, reading, progress)
    held = reading.open(valid, progress=progress) if valid else None
    given = {"device": device, "precision": precision}
    settings = [*(settings or []), *(f"{key}={json.dumps(v)}" for key, v in given.items() if v)]
    tagger = _tagger(read_recipe(recipe), settings, corpus, model, validation, seed, threads)
    if source is None and not _begins_with_names(tagger):
        raise InputError(
            "this model learns from documents: give a file of them, or leave out --model to begin "
            "with the names of labels"
        )
    if estimate:
        shown = Run(progress=progress)
        needed = tagger.estimate(corpus, vocabulary=labels, validation=held, run=shown)
        cpus = None if cluster is None else cpus_of(cluster, progress)
        own = workers(threads)
        seconds = needed.on_cluster(cpus, own) if cpus and needed.divisible else None
        json_file.write(json_to, {**needed._asdict(), "cluster_seconds": seconds})
        if not json_file.alone(json_to):
            show(_told(needed))
        if not json_file.alone(json_to) and cpus is not None:
            show(_told_of_cluster(needed, cpus, seconds, own))
        return
    with opened_workers(cluster, tagger, progress) as remote:
        run = Run(folder=folder, resume=resume, progress=progress, workers=remote)
        learn_and_save(tagger, corpus, held, labels, out, run, overwrite)
    json_file.write(json_to, training_record(tagger, out, time.monotonic() - started))
    if not json_file.alone(json_to):
        tell(tagger, out)


def learn_and_save(
    tagger: Tagger,
    corpus: Corpus,
    held: Corpus | None,
    labels: Path | None,
    out: Path,
    run: Run,
    overwrite: bool,
) -> None:
    """Train a tagger and save it.

    Parameters
    ----------
    tagger
        With its settings.
    corpus, held
        To learn from; held-out documents instead of a share of these.
    labels
        File of names and hierarchy of the labels.
    out
        Folder for the tagger.
    run
        Its folder holds what is done until the tagger is saved; its workers do a part of it.
    overwrite
        Replace a tagger, and begin a training anew that was interrupted.
    """
    from labelgrove.core import storage
    from labelgrove.core.run_folders import holds_work

    assert run.folder is not None
    with storage.locked(run.folder):
        _check_run(run, overwrite)
        try:
            tagger.fit(corpus, vocabulary=labels, validation=held, run=run)
        except KeyboardInterrupt:
            if not holds_work(run.folder):
                raise StoppedError("stopped; nothing was kept yet") from None
            again = "stopped; the same command with --resume goes on from what was kept"
            raise StoppedError(again) from None
        except ClusterError as error:
            if not holds_work(run.folder):
                raise
            again = "what was done is kept, and the same command with --resume goes on from there"
            raise ClusterError(f"{error}; {again}") from error
        except InputError:
            if not (run.resume or holds_work(run.folder / "model")):
                shutil.rmtree(run.folder, ignore_errors=True)  # nothing in the corrected one's way
            raise
        options.say_skipped(corpus, held)
        tagger.save(out, overwrite=overwrite, progress=run.progress)
        shutil.rmtree(run.folder, ignore_errors=True)  # the tagger is safe: no need of checkpoints


def tell(tagger: Tagger, out: Path) -> None:
    """Show how good a tagger is on held-out documents, and where it is."""
    from labelgrove.cli.tables import print_scores
    from labelgrove.corpus.remembered import option_words

    if tagger.scores_:
        print_scores(f"{tagger.model_.name} on held-out documents, %", tagger.scores_)
        show(tagger.learned_.told_thresholds())
    if tagger.learned_.reading:
        words = " ".join(option_words(tagger.learned_.reading))
        show(f"files for it will be read as this one was, unless options say otherwise: {words}")
    show(f"saved to {out}")


def _told(estimate: Estimate) -> str:
    """Return an estimate for a reader."""
    free = "" if estimate.free is None else f" ({estimate.free / 1e9:.1f} GB are free)"
    memory = f"{estimate.memory / 1e9:.1f} GB of memory{free}"
    spent = f"about {_clock(estimate.seconds)} (h:mm:ss)"
    if estimate.divisible and estimate.processes is None:  # a linear model
        return f"training will take {spent} and {memory}, beside what reading has taken"
    return f"training will take at most {spent} (early stopping may end it sooner) and {memory}"


def _told_of_cluster(estimate: Estimate, cpus: int, seconds: float | None, threads: int) -> str:
    """Return what a cluster makes of an estimate."""
    if seconds is None:
        return "the time on the cluster is not known: a GPU of this machine was timed"
    rest = estimate.seconds - estimate.divisible / threads
    moved = "without the time to move data"
    if estimate.processes is not None:
        moved = (
            f"in {min(cpus, estimate.processes)} processes that exchange "
            f"{estimate.exchanged / 1e9:,.1f} GB of gradients at 10 Gbit/s"
        )
    return (
        f"on the {cpus} CPUs of the cluster about {_clock(seconds)}: the "
        f"{_clock(estimate.divisible)} of one CPU that divide, and {_clock(rest)} that do not; an "
        f"estimate for CPUs like this one, {moved}"
    )


def _clock(seconds: float) -> str:
    from datetime import timedelta

    return str(timedelta(seconds=math.ceil(seconds)))


def _check_run(run: Run, overwrite: bool) -> None:
    """Neither lose a training that was interrupted nor go on with it unasked."""
    from labelgrove.core.run_folders import holds_work

    assert run.folder is not None
    if run.resume and not holds_work(run.folder):
        run.progress.say(f"nothing to resume in {run.folder}: starting from the beginning")
    elif holds_work(run.folder) and not run.resume and not overwrite:
        raise InputError(
            f"{run.folder} holds a training that was interrupted: --resume goes on with it, "
            "--overwrite starts anew"
        )


def _documents(
    source: Path | None, labels: Path | None, reading: options.ReadingOptions, progress: Progress
) -> Corpus:
    """Open the training documents; where there are none, names of labels must be given."""
    from labelgrove.corpus import read_corpus

    if source is not None:
        return reading.open(source, progress=progress)
    if labels is None:
        raise typer.BadParameter(
            "give a file of documents with labels, or --labels with a vocabulary to begin without "
            "documents"
        )
    return read_corpus(([], []))


def _begins_with_names(tagger: Tagger) -> bool:
    return bool(getattr(tagger.model, "ranks_by_name", False))


def _tagger(
    recipe: dict[str, Any],
    settings: list[str],
    corpus: Corpus,
    model: str | None,
    validation: float | None,
    seed: int,
    threads: int | None,
) -> Tagger:
    """Build the tagger that a recipe and the options describe together."""
    from labelgrove.models import MODELS
    from labelgrove.tagger import Tagger

    of_model, of_views = settings_of(recipe, settings)
    defaults = Tagger().get_params(deep=False)
    # features that were made elsewhere have no words in which names could be found
    usual = options.DEFAULT_MODEL if corpus.featurizer is None else "bonsai"
    name = recipe.get("model", usual) if model is None else model
    for option in OF_NEURAL:
        if option in of_model and option not in MODELS.find(name).setting_names():
            raise InputError(f"{name} has no setting {option!r}: --{option} is for neural models")
    classifier = MODELS.create(name, **{"seed": seed, "threads": threads, **of_model})
    share = recipe.get("validation", defaults["validation"]) if validation is None else validation
    return Tagger(
        classifier, features=of_views or None, validation=share, seed=seed, threads=threads
    )
