"""The process that makes trials: orders come as lines of JSON, and so do its answers.

It ends with the process that started it, even if that is killed: its standard input ends then.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TextIO

from labelgrove.core.errors import GivenUpError, LabelgroveError
from labelgrove.models import MODELS
from labelgrove.tuning.dataset import Dataset
from labelgrove.tuning.metric import Metric
from labelgrove.tuning.trial import attempt

Orders = SimpleQueue[dict[str, Any]]


def main() -> None:
    """Make the trials that are ordered until there are no more."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    orders: Orders = SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    while True:
        _say(out, _made(orders.get(), orders, out))


def _listen(orders: Orders) -> None:
    for line in sys.stdin:
        orders.put(json.loads(line))
    os._exit(0)  # also in the middle of a trial, whose answer nobody would hear


def _say(out: TextIO, answer: dict[str, Any]) -> None:
    out.write(json.dumps(answer) + "\n")
    out.flush()


def _made(order: dict[str, Any], orders: Orders, out: TextIO) -> dict[str, Any]:
    """Return what came of a trial."""

    def report(step: int, score: float) -> None:
        _say(out, {"step": step, "score": score})
        if not orders.get()["go_on"]:
            raise GivenUpError("others were better at this point")

    try:
        model = MODELS.create(order["model"], **order["settings"])
        scores, seconds = attempt(
            _dataset(order["dataset"]),
            model,
            Metric(order["metric"]),
            report if order["prune"] else None,
        )
    except GivenUpError:
        return {"pruned": True}
    except LabelgroveError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": "out of memory"}
    except Exception as error:  # whatever a library does: the search goes on
        return {"error": f"{type(error).__name__}: {error}"}
    return {"scores": scores, "seconds": seconds}


@lru_cache(maxsize=1)
def _dataset(folder: str) -> Dataset:
    return Dataset.read(Path(folder))
