"""Trials: a new tagger is loaded and asked in a process of its own before it is served.

A tagger that crashes, hangs or takes all memory ends that process and not the service.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import sys
import traceback
from contextlib import suppress
from dataclasses import replace

from labelgrove.core import system
from labelgrove.core.errors import LabelgroveError, StorageError
from labelgrove.service.metrics import FOLDER
from labelgrove.service.served import Served
from labelgrove.service.settings import Settings
from labelgrove.service.signals import ending

ASKED = 16  # names of labels that a new tagger is asked as texts
COMMAND = "from labelgrove.service.trial import main; main()"


async def try_out(name: str, folder: str, snapshot: str, settings: Settings) -> None:
    """Load a tagger in another process and ask it; raise an error if that fails.

    Parameters
    ----------
    name
        What requests call it.
    folder
        Where it is saved, for messages.
    snapshot
        Where it is loaded from.
    settings
        The service's; ``loading`` is the time that it may take.
    """
    told = replace(settings, keys=(), taggers=((name, snapshot),), feedback=(None,))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", COMMAND),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        **system.HERE.apart(),  # Ctrl-C is for the service, which ends this
        env={key: value for key, value in os.environ.items() if key != FOLDER},
    )
    try:
        async with asyncio.timeout(settings.loading):
            said, _ = await process.communicate(told.to_json().encode())
    except TimeoutError:
        raise StorageError(
            f"{folder} was not loaded after {settings.loading:g} s, so it was given up; start the "
            "service with a larger --load-timeout if it needs more"
        ) from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if problem := _problem(said, process.returncode or 0):
        raise StorageError(problem.replace(snapshot, folder))


def main() -> None:
    """Try the tagger of the settings on standard input; say on standard output what is wrong."""
    settings = Settings.from_json(sys.stdin.read())
    if hasattr(signal, "alarm"):
        signal.alarm(math.ceil(settings.loading))  # though nobody is left to end it
    ((name, folder),) = settings.taggers
    problem = ""
    try:
        served = Served(name, folder, settings)
        names = served.labels.names
        step = max(1, len(names) // ASKED)
        served.tagger.tag(names[::step][:ASKED], k=5)
    except LabelgroveError as error:
        problem = str(error)
    except Exception as error:
        traceback.print_exc()
        problem = f"{type(error).__name__}: {error}"
    print(json.dumps({"problem": problem}), flush=True)


def _problem(said: bytes, code: int) -> str:
    """Return what is wrong with a tagger, by what its trial said and how it ended."""
    if code < 0:
        return f"the process that tried it {ending(code)}"
    try:
        return str(json.loads(said.splitlines()[-1])["problem"])
    except (ValueError, IndexError, KeyError, TypeError):
        return f"the process that tried it {ending(code)} and said nothing"
