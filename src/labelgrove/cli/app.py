"""The commands together, and how every error becomes one line and an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import typer

from labelgrove._version import __version__
from labelgrove.cli.audit import audit
from labelgrove.cli.check import check
from labelgrove.cli.combine import combine
from labelgrove.cli.compare import compare
from labelgrove.cli.convert import convert
from labelgrove.cli.data import convert_set, list_sets, show_set
from labelgrove.cli.demo import demo
from labelgrove.cli.doctor import doctor
from labelgrove.cli.evaluate import evaluate
from labelgrove.cli.explain import explain
from labelgrove.cli.export import export
from labelgrove.cli.leaderboard import leaderboard
from labelgrove.cli.learn import learn
from labelgrove.cli.migrate import migrate
from labelgrove.cli.models import models
from labelgrove.cli.next import next_documents
from labelgrove.cli.options import check_files, close_progress
from labelgrove.cli.push import pull, push
from labelgrove.cli.retrain import retrain
from labelgrove.cli.serve import serve
from labelgrove.cli.shortlist import shortlist
from labelgrove.cli.sign import sign
from labelgrove.cli.split import split
from labelgrove.cli.stats import stats
from labelgrove.cli.tag import tag
from labelgrove.cli.terminal import show, warn
from labelgrove.cli.train import train
from labelgrove.cli.tune import tune
from labelgrove.core import interrupts, one_command
from labelgrove.core.errors import InputError, LabelgroveError, StoppedError, StorageError
from labelgrove.core.reader_words import of_command

LOOP = "Symlink loop"  # what Path.resolve says before Python 3.13; then it is an OSError
NAMES = {"next_documents": "next"}  # a function of that name would hide Python's own
TERMINATED = 143  # as shells tell SIGTERM
TRACEBACK = "LABELGROVE_TRACEBACK"  # set it to see where an error comes from

app = typer.Typer(
    name="labelgrove",
    help="Learn from texts with labels, then rank labels for new texts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Take an interrupt and a closed pipe away from typer, which would be silent about them."""

    @wraps(command)
    def guarded(*arguments: Any, **options: Any) -> None:
        try:
            check_files(options)
            command(*arguments, **options)
            if sys.stdout is not None:
                sys.stdout.flush()
        except KeyboardInterrupt:
            raise StoppedError("stopped") from None
        except BrokenPipeError:  # the reader of our output went away, as head does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            if error.errno == errno.ENOSPC:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise StorageError("no space left on the disk for the output") from error
            if error.filename is None:
                raise
            reason = error.strerror or type(error).__name__
            raise StorageError(f"cannot use {os.fsdecode(error.filename)}: {reason}") from error
        except RuntimeError as error:
            if LOOP not in str(error):
                raise
            raise InputError(f"{error}: the link leads back to itself; remove it") from error
        except MemoryError as error:
            raise StorageError(
                "this needs more memory than there is: use fewer documents, fewer labels or a "
                "smaller model, or a larger machine"
            ) from error
        finally:
            close_progress()

    return guarded


for command in (
    demo,
    check,
    split,
    convert,
    stats,
    train,
    tag,
    shortlist,
    explain,
    evaluate,
    compare,
    leaderboard,
    learn,
    migrate,
    audit,
    retrain,
    next_documents,
    combine,
    tune,
    export,
    serve,
    doctor,
    sign,
    push,
    pull,
    models,
):
    app.command(NAMES.get(command.__name__))(_guarded(command))

data = typer.Typer()
data.callback(invoke_without_command=True)(_guarded(list_sets))
data.command("show")(_guarded(show_set))
data.command("convert")(_guarded(convert_set))
app.add_typer(data, name="data")


def _version(shown: bool) -> None:
    if shown:
        show(f"labelgrove {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: exit 0, 2 for a wrong call or input, 1 for a failure."""
    one_command.begin()
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; every error is one line on stderr."""
    if sys.stdout is None:
        return _fail("standard output is closed", 2)
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    interrupts.TERMINATED.clear()
    try:
        told = sys.argv[1:] if arguments is None else list(arguments)
        with of_command():
            result = app(told, standalone_mode=False, obj=told)  # reports name their command
        return result if isinstance(result, int) else 0
    except LabelgroveError as error:
        if os.environ.get(TRACEBACK):
            raise
        terminated = isinstance(error, StoppedError) and interrupts.TERMINATED.is_set()
        return _fail(str(error), TERMINATED if terminated else error.exit_code)
    except Exception as error:
        # a wrong call; typer brings its own copy of click's errors, or click's, by version
        if hasattr(error, "format_message"):
            return _fail(error.format_message(), 2)
        if os.environ.get(TRACEBACK):
            raise
        hint = f"set {TRACEBACK}=1 to see where, and please report it"
        return _fail(f"{type(error).__name__}: {error} ({hint})", 1)


def _fail(message: str, code: int) -> int:
    line = " ".join(message.split())
    if line:  # there is none where the help was shown instead
        warn(f"labelgrove: {line}")
    return code
