"""``labelgrove tune``: settings are tried on held-out documents; the best become a recipe."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.clusters import has_use, opened_trials, opened_workers
from labelgrove.cli.recipes import OF_TEXT, parted, read_recipe, settings_of, write_recipe
from labelgrove.cli.terminal import show, warn
from labelgrove.core.errors import MissingExtraError, StoppedError

if TYPE_CHECKING:
    from labelgrove.tuning import Search


SHARE = 0.1  # of the documents, held out by default


@options.reads_documents
def tune(
    source: Annotated[Path, typer.Argument(metavar="TRAIN", help="Documents with labels.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for what is found.")],
    model: Annotated[
        str | None,
        typer.Option(help="Model; 'labelgrove models' lists them. bonsai by default."),
    ] = None,
    trials: Annotated[
        int, typer.Option(help="Settings to try in all, those of a resumed search included.", min=1)
    ] = 20,
    metric: Annotated[
        str, typer.Option(help="What is to be best: nDCG@5, P@1, PSP@5, micro-F1, ...")
    ] = "nDCG@5",
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            metavar="KEY=RANGE",
            help="Where to search a setting: beam=5..50, cost=0.05..1:log, order=frequency,random; "
            "of the text as text.KEY. 'labelgrove models NAME' tells what is searched by itself.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting that is fixed, of the model or of the text as text.KEY; repeatable.",
        ),
    ] = None,
    recipe: Annotated[
        str | None, typer.Option(help="Recipe whose settings are fixed; options win over it.")
    ] = None,
    labels: options.Labels = None,
    valid: Annotated[
        Path | None, typer.Option(help="Documents to judge by, instead of a share of TRAIN.")
    ] = None,
    validation: Annotated[
        float | None, typer.Option(help="Share of TRAIN to judge by; 0.1 by default.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Trials at once, each with its share of the threads; 1 by default, with --cluster "
            "one for each CPU.",
            min=1,
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--time", help="Seconds after which the search ends.")
    ] = None,
    no_prune: Annotated[bool, typer.Option("--no-prune", help="Give no trial up early.")] = False,
    train: Annotated[
        bool, typer.Option("--train", help="Train the best then, into OUT/tagger.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the search in OUT: same data and ranges.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin anew, in place of the search in OUT.")
    ] = False,
    cluster: options.Cluster = None,
    json_to: json_file.Option = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    *,
    context: typer.Context,
    reading: options.ReadingOptions,
) -> None:
    """Search for the settings that are best on held-out documents (extra: tune)."""
    from labelgrove.core.types import Run
    from labelgrove.tuning import tune as search
    from labelgrove.tuning.folder import RECIPE, RUN, TAGGER

    json_file.check(json_to)
    if valid is not None and validation is not None:
        raise typer.BadParameter("give either --valid or --validation")
    base = read_recipe(recipe)
    of_model, of_views = settings_of(base, settings or [])
    wanted = dict(parted(each, "--range takes KEY=RANGE") for each in ranges or [])
    wanted |= {name: wanted.pop(key) for name in OF_TEXT if (key := f"text.{name}") in wanted}
    share = base.get("validation", SHARE) if validation is None else validation
    out, progress = out.resolve(), options.open_progress(quiet)
    corpus = reading.open(source, progress=progress)
    held = reading.open(valid, progress=progress) if valid else None
    with opened_trials(cluster, progress) as hosts:
        result = search(
            corpus,
            model=base.get("model", "bonsai") if model is None else model,
            trials=trials,
            ranges=wanted,
            settings=of_model,
            features=of_views,
            metric=metric,
            vocabulary=labels,
            validation=share if held is None else held,
            folder=out,
            resume=resume,
            overwrite=overwrite,
            jobs=jobs,
            seconds=seconds,
            prune=not no_prune,
            seed=seed,
            threads=threads,
            progress=progress,
            hosts=hosts,
        )
    options.say_skipped(corpus, held)
    _write(result, out, shlex.join(["labelgrove", *context.obj]))
    json_file.write(json_to, result.record() | {"folder": str(out)})
    alone = json_file.alone(json_to)
    if not alone:
        _show(result, out)
    if not result.complete:
        raise StoppedError(
            f"stopped after {len(result.trials)} trials, which are kept; the same command with "
            "--resume goes on"
        )
    if not train and not alone:
        more = {
            "--labels": labels,
            "--valid": valid,
            "--validation": None if valid or share == SHARE else share,
            "--seed": seed or None,
        }
        told = [str(each) for pair in more.items() if pair[1] is not None for each in pair]
        command = ["labelgrove", "train", str(source), "--recipe", str(out / RECIPE), *told]
        show(f"train it by: {shlex.join([*command, *reading.words()])} --out TAGGER")
    if not train:
        return
    from labelgrove.cli.train import learn_and_save, tell

    tagger = result.tagger(validation=share, threads=threads)
    used = cluster if has_use(tagger) else None
    with opened_workers(used, tagger, progress) as workers:
        again = resume and (out / RUN).exists()
        run = Run(out / RUN, resume=again, progress=progress, workers=workers)
        learn_and_save(tagger, corpus, held, labels, out / TAGGER, run, overwrite=True)
    if not alone:
        tell(tagger, out / TAGGER)


def _write(result: Search, out: Path, command: str) -> None:
    """Write recipe, trials and report."""
    from labelgrove.report.search import search_report
    from labelgrove.tuning.folder import RECIPE, REPORT, TRIALS

    options.write_output(out / RECIPE, write_recipe(result.recipe()))
    lines = [json.dumps(trial.record(), ensure_ascii=False) for trial in result.trials]
    options.write_output(out / TRIALS, "\n".join(lines) + "\n")
    try:
        options.write_output(out / REPORT, search_report(result, command))
    except MissingExtraError as error:
        warn(f"no report: {error}")


def _show(result: Search, out: Path) -> None:
    """Print what was found, the default settings beside it."""
    from labelgrove.cli.tables import print_table
    from labelgrove.core.ranges import as_text

    best, default, name = result.best, result.default, result.metric.name
    start = result.space.start
    rows = [[key, as_text(start[key]), as_text(value)] for key, value in best.values.items()]
    shown = "-" if default is None or default.score is None else f"{100 * default.score:.2f}"
    assert best.score is not None
    rows.append([f"{name}, %", shown, f"{100 * best.score:.2f}"])
    print_table("", ["", "default", f"best: trial {best.number}"], rows)
    show(
        f"{len(result.trials)} trials: {result.count('finished')} finished, "
        f"{result.count('pruned')} given up early, {result.count('failed')} failed"
    )
    show(
        f"the best score was selected among {result.count('finished')} on the same "
        f"{result.facts['documents to judge by']:,} documents and is optimistic: test on others"
    )
    show(f"recipe, trials and report are in {out}")
