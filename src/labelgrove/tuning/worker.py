"""The process that makes trials: orders come as lines of JSON, and so do its answers.

It ends with the process that started it, even if that is killed: its standard input ends then.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TextIO

from labelgrove.core.errors import GivenUpError, LabelgroveError
from labelgrove.models import MODELS
from labelgrove.tuning.dataset import Dataset
from labelgrove.tuning.metric import Metric
from labelgrove.tuning.trial import attempt

Message = dict[str, Any]


Ask = Callable[[Message], Message]


def main() -> None:
    """Make the trials that are ordered until there are no more."""
    answer_orders(carry_out)


def answer_orders(carry_out: Callable[[Message, Ask], Message]) -> None:
    """Carry out what is ordered on standard input until the process that orders has ended.

    Parameters
    ----------
    carry_out
        Takes an order, and what sends a message and returns the reply to it; returns the answer.
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    orders: SimpleQueue[Message] = SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()

    def ask(message: Message) -> Message:
        _say(out, message)
        return orders.get()

    while True:
        _say(out, carry_out(orders.get(), ask))


def _listen(orders: SimpleQueue[Message]) -> None:
    for line in sys.stdin:
        orders.put(json.loads(line))
    os._exit(0)  # also in the middle of a trial, whose answer nobody would hear


def _say(out: TextIO, answer: Message) -> None:
    out.write(json.dumps(answer) + "\n")
    out.flush()


def carry_out(order: Message, ask: Ask) -> Message:
    """Make a trial, and return what came of it.

    Parameters
    ----------
    order
        What to try, from `Plan.order`.
    ask
        Sends a step and its score, and returns whether to go on: ``{"go_on": ...}``.
    """

    def report(step: int, score: float) -> None:
        if not ask({"step": step, "score": score})["go_on"]:
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
