"""The five systems trained until their curves are flat: alone, on bonsai, and beside bonsai.

    python benchmarks/quality/papers.py --data DIR --work DIR --encoder FOLDER
        [--only WORD,...] [--minutes N]
    python benchmarks/quality/papers.py --work DIR --tables

DIR of --data holds a folder for each set with train.jsonl.xz and test.jsonl.xz (labels.tsv where
there are names). Every system learns from the same 4,000 random training documents of a seed, of
which a tenth is held out: there the best weights are chosen and curves are drawn. All are judged on
the same 3,000 random test documents.

A run is a set, a model, a form and a seed. The forms of a network are `paper` (as its paper has
it), `consensus` (that and bonsai asked together) and `on bonsai` (it judges bonsai's candidates and
starts from bonsai's scores). DIR of --work keeps a line of JSON for each run in papers.jsonl, with
its learning curve; what is there is not run again, and a training that was interrupted goes on.
The runs that are made so far lie in papers.jsonl beside this file: copy it to DIR to go on.
--tables prints what was found, and draws the curves.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from papers_tables import FIGURE, figure, tables
from result_lines import Line, ResultLines, source
from trial import Case, judged, trained, training_record

from labelgrove import Tagger
from labelgrove.core.estimator import Classifier
from labelgrove.evaluation import additive, bootstrap

HERE = Path(__file__).parent
SETS = ("reuters", "debtags", "arxiv", "congress", "tibkat")
SEEDS = (0, 1)
TRAIN = 4000  # documents
LINEAR = ("bonsai", "one-vs-rest")
WORDS = ("attentionxml", "lightattention", "treaderxml")  # these read words, with their defaults
ENCODED = ("aplc-xlnet", "laco")  # these fine-tune a pretrained encoder
PLAIN, PAPER, CONSENSUS, ON_BONSAI = "plain", "paper", "consensus", "on bonsai"
READ_TOGETHER = ("reuters", "arxiv")  # sets whose labels LACO can read beside a text, as published
INTERVALS = ("P@1", "P@3", "P@5", "nDCG@5")


class Task(NamedTuple):
    """One run."""

    where: str
    model: str
    form: str
    seed: int

    @property
    def system(self) -> str:
        """The name of its files."""
        return self.model if self.form == PLAIN else f"{self.model}, {self.form}"


def planned(only: Sequence[str] = ()) -> Iterator[Task]:
    """Return the runs; with words, those that have one of the words of each kind."""
    forms = (PLAIN, PAPER, CONSENSUS, ON_BONSAI)
    kinds = (SETS, (*LINEAR, *WORDS, *ENCODED), forms, tuple(f"seed-{seed}" for seed in SEEDS))
    unknown = [word for word in only if not any(word in kind for kind in kinds)]
    if unknown:
        known = ", ".join(word for kind in kinds for word in kind)
        sys.exit(f"--only {unknown[0]!r} is none of {known}")
    for task in _all():
        own = (task.where, task.model, task.form, f"seed-{task.seed}")
        asked = [[word for word in only if word in kind] for kind in kinds]
        if all(not words or word in words for word, words in zip(own, asked, strict=True)):
            yield task


def _all() -> Iterator[Task]:
    for seed in SEEDS:
        for where in SETS:
            yield from (Task(where, model, PLAIN, seed) for model in LINEAR)
        for model in (*WORDS, *ENCODED):
            for where in SETS:
                if model != "laco" or where in READ_TOGETHER:
                    yield Task(where, model, PAPER, seed)
                    yield Task(where, model, CONSENSUS, seed)
                yield Task(where, model, ON_BONSAI, seed)


# --- what is trained ------------------------------------------------------------------------------


def network(task: Task, asked: argparse.Namespace) -> tuple[str | type[Classifier], dict[str, Any]]:
    """Return the model of a task and what is not default.

    All learning rates fall to zero, so that curves are flat at the end.
    """
    settings: dict[str, Any] = {"first": "bonsai" if task.form == ON_BONSAI else "none"}
    if task.model in WORDS:
        return task.model, settings | ({"epochs": asked.epochs} if asked.epochs else {})
    settings |= {
        "encoder": str(asked.encoder), "length": asked.tokens, "frozen": asked.frozen, "batch": 16,
        "precision": asked.precision, "encoder_rate": 1e-4, "epochs": asked.epochs or 5,
    }  # fmt: skip
    if task.model == "laco":
        return _laco(), settings
    return task.model, settings | {"hidden": 384, "hidden_rate": 1e-3}


def _laco() -> type[Classifier]:
    """Return LACO with weights chosen by nDCG@5, as all others have theirs; its own is micro-F1."""
    from labelgrove.models.neural.laco import Laco

    class ByRanking(Laco):
        measure = "nDCG@5"

    return ByRanking


class Bench:
    """Trains and judges, and keeps a line of JSON for each run."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked, self.source, self.lines = asked, source(), kept(asked.work)

    def run(self, tasks: Sequence[Task]) -> None:
        """Make the runs that are not there, as far as they fit into the time."""
        end = time.monotonic() + 60 * self.asked.minutes
        for task in tasks:
            done = self.lines.read()
            if task in done and "error" not in done[task]:
                continue
            expected = expected_seconds(task, done.values())
            if time.monotonic() + expected > end:
                print(f"left out, {expected / 60:.0f} minutes: {_told(task)}", flush=True)
                continue
            self.measure(task)

    def measure(self, task: Task) -> None:
        """Make a run; one that fails is kept with its error, and tried again by a later call."""
        print(f"{time.strftime('%H:%M:%S')} {_told(task)}", flush=True)
        began = time.monotonic()
        try:
            found = self._measured(task)
        except Exception as error:  # whatever one does, the others are measured
            found = {"error": f"{type(error).__name__}: {error}"}
        line = {**task._asdict(), "source": self.source, "run_s": time.monotonic() - began, **found}
        self.lines.add(line)
        scores = found.get("scores")
        shown = found["error"] if scores is None else f"nDCG@5 {100 * scores['nDCG@5']:.2f}"
        print(f"  {shown} in {line['run_s']:.0f} s", flush=True)
        if "error" not in found and task.form in (CONSENSUS, ON_BONSAI):  # asked no more
            own = task._replace(form=PAPER) if task.form == CONSENSUS else task
            for ending in ("", ".run"):
                folder = self._case(task).folder / f"{own.system}{ending}"
                shutil.rmtree(folder, ignore_errors=True)

    def _measured(self, task: Task) -> Line:
        case = self._case(task)
        case.folder.mkdir(parents=True, exist_ok=True)
        tagger, settings = self._learned(task, case)
        facts, Y, ranking = judged(case, tagger)
        encoder = settings.get("encoder")  # by its name: folders are other ones elsewhere
        spread = bootstrap(additive(Y, ranking, INTERVALS))
        trained_by = {} if task.form == CONSENSUS else training_record(case, task.system)
        return {
            "settings": settings | ({"encoder": Path(encoder).name} if encoder else {}),
            "documents": len(case.documents("train")),
            **facts,
            "intervals": {name: list(each[1:]) for name, each in spread.items()},
            **trained_by,
        }

    def _learned(self, task: Task, case: Case) -> tuple[Tagger, dict[str, Any]]:
        """Train a system, or go on, or combine what is trained."""
        if task.form == CONSENSUS:
            partners = (task._replace(form=PAPER), task._replace(model="bonsai", form=PLAIN))
            return Tagger.combine([self._learned(each, case)[0] for each in partners]), {}
        model, settings = (task.model, {}) if task.form == PLAIN else network(task, self.asked)
        return trained(case, task.system, model, settings), settings

    def _case(self, task: Task) -> Case:
        asked = self.asked
        return Case(task.where, task.seed, asked.documents, asked.data, asked.work, asked.threads)


def expected_seconds(task: Task, lines: Iterable[Line]) -> float:
    """Return how long a run will take: as the longest of its model and form, or of its form, did.

    0 where nothing like it was run.
    """
    good = [line for line in lines if "error" not in line]
    same = [line["run_s"] for line in good if (line["model"], line["form"]) == task[1:3]]
    like = [line["run_s"] for line in good if line["form"] == task.form]
    return max(same or like or [0.0])


def kept(work: Path) -> ResultLines:
    return ResultLines(work / "papers.jsonl", Task._fields)


def _told(task: Task) -> str:
    return f"{task.where}, seed {task.seed}: {task.system}"


# --- command line -------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--encoder", type=Path, help="folder of a pretrained encoder")
    parser.add_argument(
        "--only", default="", metavar="WORD,...",
        help="some of the sets, models, forms (plain, paper, consensus, on bonsai) and seeds "
        "(seed-0, seed-1); default: all",
    )  # fmt: skip
    parser.add_argument(
        "--minutes", type=float, default=float("inf"),
        help="start no run that would end later, going by the runs so far; default: no limit",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--documents", type=int, default=TRAIN, help="to train on; %(default)s")
    parser.add_argument("--tokens", type=int, default=64, help="read by encoders; %(default)s")
    parser.add_argument(
        "--frozen", type=int, default=3, help="lowest layers that do not learn; %(default)s"
    )
    parser.add_argument("--precision", default="bf16", help="of encoders; %(default)s")
    parser.add_argument("--epochs", type=int, help="default: those of word models, 5 of encoders")
    parser.add_argument("--tables", action="store_true", help="print what was found, run nothing")
    parser.add_argument("--figure", type=Path, default=HERE / FIGURE, help="of the curves")
    asked = parser.parse_args()
    if asked.tables:
        found = list(kept(asked.work).read().values())
        print("\n".join(tables(found)))
        asked.figure.write_text(figure(found), encoding="utf-8")
        return
    tasks = list(planned([word for word in asked.only.split(",") if word]))
    missing = [name for name in ("data", "encoder") if getattr(asked, name) is None]
    if missing:
        sys.exit(f"give --{missing[0]}, or --tables to print what was found")
    asked.work.mkdir(parents=True, exist_ok=True)
    Bench(asked).run(tasks)


if __name__ == "__main__":
    main()
