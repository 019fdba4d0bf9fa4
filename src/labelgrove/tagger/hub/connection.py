"""How the hub is spoken to: names of repositories, limits of time, and errors in plain words."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from labelgrove._version import __version__
from labelgrove.core.errors import HubError, InputError, LabelgroveError, StorageError
from labelgrove.core.extras import need
from labelgrove.core.progress import Progress, Silent

SECONDS = 10  # to wait for the hub's first answer
LIMITS = (SECONDS, 120, 120, None)  # to connect, for an answer, to send a part, for a connection
LOG_IN = "log in with 'hf auth login', or set HF_TOKEN"


def open_hub(purpose: str) -> ModuleType:
    """Return the library that speaks to the hub; ``purpose`` says what needs it."""
    for part in ("constants", "errors", "utils"):  # which the library itself loads lazily
        need(f"huggingface_hub.{part}", "hub", purpose)
    return need("huggingface_hub", "hub", purpose)


def api_of(hub: ModuleType) -> Any:
    """Return what calls the hub, under our name."""
    return hub.HfApi(library_name="labelgrove", library_version=__version__)


def check_repository(repository: str) -> str:
    """Return the name of a repository if it is one: an owner, a slash and a name."""
    from labelgrove.core.snapshot import OF_HUB

    owner, _, name = repository.partition("/")
    wrong = "--" in repository or ".." in repository or name.endswith((".git", "-", "."))
    if not OF_HUB.fullmatch(repository) or wrong or len(owner) > 96 or len(name) > 96:
        raise InputError(
            f"{repository!r} is no repository of the Hugging Face hub: give owner/name, of "
            "letters, digits, '-', '_' and '.', such as my-name/my-tagger"
        )
    return repository


@contextmanager
def asking(
    hub: ModuleType, repository: str, progress: Progress, *, revision: str | None = None
) -> Iterator[None]:
    """Ask the hub within limits of time; what goes wrong becomes one line that says what to do.

    Parameters
    ----------
    hub
        The library.
    repository, revision
        What is asked about, for messages.
    progress
        Where nobody listens, or in a pipe, the library shows no bars of its own.
    """
    session = hub.utils.get_session()
    before, session.timeout = session.timeout, LIMITS
    try:
        with _quiet(hub, progress):
            yield
    except LabelgroveError:
        raise
    except Exception as error:  # of the library, of what it speaks HTTP with, of Python
        raise explain(hub, error, repository, revision) from error
    finally:
        session.timeout = before


def explain(
    hub: ModuleType, error: BaseException, repository: str, revision: str | None = None
) -> LabelgroveError:
    """Return an error of ours for one of the library, in words that say what to do."""
    errors, place = hub.errors, hub.constants.ENDPOINT
    if isinstance(error, errors.GatedRepoError):
        return HubError(
            f"{repository} is gated: accept its conditions on {place}/{repository}, then {LOG_IN}"
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return InputError(
            f"{place} shows no repository {repository}: check the name; if it is private, {LOG_IN}"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return InputError(
            f"{repository} has no revision {revision or 'main'!r}: give a branch, a tag or a commit"
        )
    if isinstance(error, errors.HfHubHTTPError) and error.response is not None:
        return HubError(_refused(error, repository, place))
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return StorageError(
            f"no space left on the disk for {repository}; HF_HUB_CACHE names the folder of the "
            "hub's cache"
        )
    if isinstance(error, OSError) and error.errno and error.filename is not None:
        return StorageError(f"cannot use {error.filename}: {error.strerror}")
    if error.__cause__ is not None and isinstance(error, RuntimeError | FileNotFoundError):
        return explain(hub, error.__cause__, repository, revision)  # it wraps what went wrong
    if isinstance(error, json.JSONDecodeError):  # the page of a proxy, or another server
        return HubError(
            f"{place} answers, but not as a hub does: check HF_ENDPOINT, and whether a proxy or a "
            "login page answers in its place"
        )
    if isinstance(error, ValueError):  # of the card's head, or of names
        return InputError(f"{place} refuses this for {repository}: {' '.join(str(error).split())}")
    if "/xet-" in str(error):  # of the library's other way for large files
        return HubError(
            f"{place} does not take files by Xet ({line_of(error)}): set HF_HUB_DISABLE_XET=1, "
            "and try again"
        )
    return HubError(
        f"{place} cannot be reached, or broke off ({line_of(error)}): check the network and "
        "HF_ENDPOINT, and try again; files that have arrived are not transferred again"
    )


def is_offline(hub: ModuleType) -> bool:
    """Tell whether the user wants nothing to be asked over the network."""
    return bool(hub.constants.is_offline_mode())


def line_of(error: BaseException) -> str:
    """Return the first line of a library's message, or the name of the error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".:") if lines else type(error).__name__


def _refused(error: Any, repository: str, place: str) -> str:
    """Return why the hub refuses something, by the status of its answer."""
    status = error.response.status_code
    said = f" ({' '.join(error.server_message.split())})" if error.server_message else ""
    if status == 401:
        return f"{place} does not know the token{said}: {LOG_IN}"
    if status == 403:
        return (
            f"{place} does not let you do this with {repository}{said}: use a token that may, "
            "of the owner and with the right to write if you push"
        )
    if status == 412:
        return f"somebody else has changed {repository} meanwhile; nothing was pushed: try again"
    if status == 429:
        return f"{place} gets too many requests from you{said}: try again later"
    if status >= 500:
        return f"{place} fails with status {status}{said}: try again later"
    return (
        f"{place} refuses this for {repository} with status {status}{said or f': {line_of(error)}'}"
    )


@contextmanager
def _quiet(hub: ModuleType, progress: Progress) -> Iterator[None]:
    """Leave its bars to a terminal with a listener, and its warnings to our errors."""
    logging, utils = hub.utils.logging, hub.utils
    level = logging.get_verbosity()
    shown = type(progress) is not Silent and sys.stderr is not None and sys.stderr.isatty()
    hidden = not shown and not utils.are_progress_bars_disabled()
    logging.set_verbosity_error()
    if hidden:
        utils.disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if hidden:
            utils.enable_progress_bars()
