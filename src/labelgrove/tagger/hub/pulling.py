"""From a repository of the hub to a saved folder on this machine."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from labelgrove.core import storage
from labelgrove.core.cards import read_card
from labelgrove.core.errors import DamagedError, HubError, InputError, LabelgroveError
from labelgrove.core.manifest import BESIDE, CARD, MANIFEST, parse_manifest
from labelgrove.core.progress import Progress
from labelgrove.core.wording import several
from labelgrove.tagger.hub.connection import (
    SECONDS,
    api_of,
    asking,
    check_repository,
    explain,
    is_offline,
    open_hub,
)

Place = str | os.PathLike[str]
MEGABYTE = 10**6


def pull(
    repository: str,
    out: Place,
    *,
    revision: str | None = None,
    overwrite: bool = False,
    signed_by: Place | None = None,
    progress: Progress,
) -> str:
    """Download a tagger into a folder and return the commit that it is of.

    The folder is whole and checked, or it is not there. Files come by way of the hub's cache, so
    that a download that broke off goes on, and the same tagger is not downloaded twice.

    Parameters
    ----------
    repository
        ``"owner/name"``.
    out
        The folder.
    revision
        A branch, a tag or a commit; the newest of the main branch by default.
    overwrite
        Replace a tagger that is there; a card that somebody edited stays.
    signed_by
        The file of a public key that must have signed the tagger.
    progress
        Where it is said what is downloaded.
    """
    check_repository(repository)
    storage.check_free(out, overwrite=overwrite)
    source = fetch(repository, revision=revision, progress=progress)
    with naming(repository, source):
        manifest = storage.read_manifest(source, progress=progress, signed_by=signed_by)
    if manifest.get("part") != "tagger":
        raise _no_tagger(repository)
    card = read_card(Path(out))
    storage.copy_folder(source, out, overwrite=overwrite)
    if card is not None and card.edited:
        progress.say(f"{CARD} was edited by hand, so it stays as it is in {out}")
    return source.name


def fetch(repository: str, *, revision: str | None, progress: Progress) -> Path:
    """Return the folder of a tagger in the hub's cache, downloaded if need be.

    Its files are links, as everywhere in that cache. Checksums are compared by who loads it.

    Parameters
    ----------
    repository, revision, progress
        As of `pull`.
    """
    check_repository(repository)
    hub = open_hub("pulling taggers from the Hugging Face hub")
    with asking(hub, repository, progress, revision=revision):
        cached = is_offline(hub) or not _is_reached(hub, repository, revision, progress)
        source = _snapshot(hub, repository, revision, cached=cached)
        with naming(repository, source):
            files = parse_manifest(source)["files"]
        size = sum(facts["bytes"] for facts in files.values())
        whence = "the cache" if cached else hub.constants.ENDPOINT
        progress.say(
            f"{repository} at {source.name[:8]}: {several(len(files), 'file')}, "
            f"{size / MEGABYTE:,.1f} MB, from {whence}"
        )
        patterns = [glob.escape(name) for name in (*files, MANIFEST, *BESIDE)]
        try:
            return Path(
                hub.snapshot_download(
                    repository,
                    revision=source.name,
                    allow_patterns=patterns,
                    local_files_only=cached,
                )
            )
        except hub.errors.LocalEntryNotFoundError as error:
            if not cached:
                raise
            raise _not_cached(hub, repository, "only a part of it is") from error


@contextmanager
def naming(repository: str, folder: Path) -> Iterator[None]:
    """Let errors about a folder of the cache name the repository, and say what helps there."""
    try:
        yield
    except LabelgroveError as error:
        text = str(error).replace(str(folder), repository)
        text = text.replace("save the model again", "its maker can push it again")
        if isinstance(error, DamagedError):
            text += f"; 'hf cache rm model/{repository}' removes a damaged copy from the cache"
        error.args = (text,)
        raise


def _is_reached(hub: ModuleType, repository: str, revision: str | None, progress: Progress) -> bool:
    """Ask for the repository; where there is no answer, say that the cache has to do.

    A download would try for long, and take an older copy without a word.
    """
    try:
        api_of(hub).model_info(repository, revision=revision, timeout=SECONDS)
    except Exception as error:
        told = explain(hub, error, repository, revision)
        answered = getattr(getattr(error, "response", None), "status_code", 0)
        if not isinstance(told, HubError) or 0 < answered < 500:
            raise told from error
        try:
            _snapshot(hub, repository, revision, cached=True)
        except LabelgroveError:
            raise told from error
        progress.say(f"{told}; the copy in the cache is taken")
        return False
    return True


def _snapshot(hub: ModuleType, repository: str, revision: str | None, *, cached: bool) -> Path:
    """Return the folder of the cache for a revision, with the manifest in it."""
    try:
        found = hub.hf_hub_download(
            repository, MANIFEST, revision=revision, local_files_only=cached
        )
    except hub.errors.LocalEntryNotFoundError as error:
        if not cached:
            raise
        raise _not_cached(hub, repository, "it is not") from error
    except hub.errors.EntryNotFoundError as error:
        raise _no_tagger(repository) from error
    return Path(found).parent


def _no_tagger(repository: str) -> InputError:
    return InputError(f"{repository} holds no tagger of labelgrove: it has no {MANIFEST} of one")


def _not_cached(hub: ModuleType, repository: str, state: str) -> InputError:
    return InputError(
        f"HF_HUB_OFFLINE is set, and of {repository} {state} in the cache "
        f"({hub.constants.HF_HUB_CACHE}): unset it, or pull the tagger where there is a network"
    )
