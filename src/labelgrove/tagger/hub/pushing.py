"""From a saved folder to a repository of the hub, in one commit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from labelgrove._version import __version__
from labelgrove.core import checks, storage
from labelgrove.core.cards import Card, parse_card, read_card
from labelgrove.core.errors import HubError, InputError, LabelgroveError, NewerFormatError
from labelgrove.core.manifest import CARD, MANIFEST, SIGNATURE, named, parse_manifest
from labelgrove.core.progress import Progress
from labelgrove.core.wording import several
from labelgrove.tagger.card import (
    card_text,
    check_told,
    fitting,
    keeps_texts,
    local_paths,
    with_told,
)
from labelgrove.tagger.hub.connection import (
    SECONDS,
    api_of,
    asking,
    check_repository,
    is_offline,
    open_hub,
)

Place = str | os.PathLike[str]
MEGABYTE = 10**6
OTHERS = frozenset({".gitattributes", ".gitignore", CARD, "LICENSE", "LICENSE.md", "LICENSE.txt"})
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class PushOptions:
    """What is wanted of a push.

    Parameters
    ----------
    repository
        ``"owner/name"``; it is made if need be.
    private
        Make it private; one that is public is refused.
    revision
        The branch, made if need be; the main one by default.
    message
        The message of the commit.
    license, languages
        For the card, as of `update_card`.
    dry_run
        Only say what would be uploaded.
    """

    repository: str
    private: bool = False
    revision: str | None = None
    message: str | None = None
    license: str | None = None
    languages: Sequence[str] = ()
    dry_run: bool = False

    def check(self) -> None:
        """Raise an error for what cannot be pushed to, before anything is read."""
        check_repository(self.repository)
        check_told(self.license, self.languages)
        if self.revision is not None and COMMIT.fullmatch(self.revision):
            raise InputError(
                f"--revision {self.revision} is a commit, to which nothing can be pushed: give a "
                "branch"
            )


@dataclass(frozen=True)
class Remote:
    """A repository as it is before a push.

    Parameters
    ----------
    private
        Whether only its owner sees it.
    sha
        Its last commit; None where there is none.
    files
        The names of its files.
    manifest
        The manifest of the tagger in it, or None.
    card
        Its card, or None.
    """

    private: bool
    sha: str | None = None
    files: frozenset[str] = frozenset()
    manifest: Mapping[str, Any] | None = None
    card: Card | None = None


def push(folder: Place, options: PushOptions, progress: Progress) -> str:
    """Upload a saved tagger in one commit; return the address of the commit.

    The folder is checked first, as a load checks it. The files that its manifest lists are
    uploaded, the manifest, a signature and the card, and nothing else. Files of the tagger that
    was there before are removed in the same commit; other files of the repository stay.

    Parameters
    ----------
    folder
        A saved tagger.
    options
        Where to, and how.
    progress
        Is told what will be uploaded, how many MB, and who can see it, before it is uploaded.
    """
    options.check()
    hub = open_hub("pushing taggers to the Hugging Face hub")
    if is_offline(hub):
        raise InputError("HF_HUB_OFFLINE is set, and pushing needs the hub: unset it")

    def read(place: Path, manifest: dict[str, Any]) -> str:
        if manifest.get("part") != "tagger":
            raise InputError(f"{place} holds a {manifest.get('part')!r}, not a tagger")
        with asking(hub, options.repository, progress, revision=options.revision):
            return _Upload(hub, options, progress, place, manifest).run()

    return storage.read_folder(folder, read, progress=progress)


@dataclass(frozen=True)
class _Upload:
    hub: ModuleType
    options: PushOptions
    progress: Progress
    place: Path
    manifest: Mapping[str, Any]

    def run(self) -> str:
        """Look at the repository, say what will be done, and do it."""
        repository, branch = self.options.repository, self.options.revision
        address = f"{self.hub.constants.ENDPOINT}/{repository}"
        remote = self._remote()
        names = [*self.manifest["files"], MANIFEST]
        if self._has(SIGNATURE):
            names.append(SIGNATURE)
        card = self._card(remote)
        old = {} if remote.manifest is None else remote.manifest["files"]
        gone = sorted({*old, SIGNATURE} & remote.files - {*names})
        for line in self._plan(remote, names, card, gone, address):
            self.progress.say(line)
        if self.options.dry_run:
            return ""
        add, remove = self.hub.CommitOperationAdd, self.hub.CommitOperationDelete
        operations = [add(name, str(self.place / name)) for name in names]
        operations += [] if card is None else [add(CARD, card)]
        operations += [remove(name, is_folder=False) for name in gone]
        done = api_of(self.hub).create_commit(
            repository,
            operations,
            commit_message=self.options.message or f"A tagger of labelgrove {__version__}",
            revision=branch,
            parent_commit=remote.sha,
        )
        if done.oid == remote.sha:
            self.progress.say(f"nothing has changed since that commit of {repository}")
            return str(done.commit_url)
        there = self._info(done.oid).files
        if kept_out := [name for name in names if name not in there]:
            raise HubError(
                f"{address} did not take {named(kept_out)}, so what is there is no whole tagger: "
                "look into its .gitignore, and push again"
            )
        return str(done.commit_url)

    def _has(self, name: str) -> bool:
        path = self.place / name
        return path.is_file() and not path.is_symlink()  # a link may lead to any file

    def _plan(
        self,
        remote: Remote,
        names: Sequence[str],
        card: bytes | None,
        gone: Sequence[str],
        address: str,
    ) -> Iterator[str]:
        """Return what is uploaded, and what those who see it can learn from it."""
        size = sum((self.place / name).stat().st_size for name in names) + len(card or b"")
        number = several(len(names) + (card is not None), "file")
        branch = f", branch {self.options.revision}" if self.options.revision else ""
        state = (
            "private: its owner and those whom the owner lets see it"
            if remote.private
            else "PUBLIC: anyone"
        )
        yield (
            f"{number}, {size / MEGABYTE:,.1f} MB, to {address}{branch}, which is {state} can read "
            "the names of all labels and the words of training texts that the tagger holds"
        )
        if keeps_texts(self.manifest):
            yield "the tagger also holds how its training documents begin"
        if paths := local_paths(self.manifest):
            yield f"its {MANIFEST} names paths of this machine: {named(paths)}"
        if gone:
            yield f"removed there, since they are of the tagger before: {named([*gone])}"
        if card is None:
            yield f"{CARD} was edited in the repository, so it stays as it is there"

    def _card(self, remote: Remote) -> bytes | None:
        """Return the card to upload; None leaves the one that somebody edited in the repository."""
        options, own = self.options, read_card(self.place)
        told = {} if own is None else own.told
        written = self._has(CARD) and own is not None and own.edited
        theirs = remote.card is not None and remote.card.edited
        if (written or theirs) and (options.license or options.languages):
            where = self.place if written else options.repository
            raise InputError(
                f"the {CARD} of {where} was edited by hand, so it is not changed: write licence "
                "and language into it, and leave out --license and --language"
            )
        if written:
            return (self.place / CARD).read_bytes()
        if theirs:
            return None
        known = {} if remote.card is None else remote.card.told
        before = {key: known[key] for key in ("license", "languages") if key in known}
        told = {**before, **fitting(told, self.manifest)}
        told = with_told(told, options.license, options.languages)
        told |= {"repository": options.repository}
        with checks.reading(self.place):
            text = card_text(self.manifest, told)
        return text.encode()

    # --- the repository ------------------------------------------------------------------------

    def _remote(self) -> Remote:
        """Return the repository, made if need be and if this is meant; refuse one of others."""
        options, api = self.options, api_of(self.hub)
        repository = options.repository
        try:
            remote = self._info(None)
        except self.hub.errors.GatedRepoError:
            raise
        except self.hub.errors.RepositoryNotFoundError:
            if options.dry_run:
                return Remote(options.private)
            api.create_repo(repository, private=True if options.private else None, exist_ok=True)
            remote = self._info(None)
        if options.private and not remote.private:
            raise InputError(
                f"{repository} is public, which --private does not change: make it private in its "
                "settings on the hub, or push to another repository"
            )
        if options.revision is not None:
            try:
                remote = self._info(options.revision)
            except self.hub.errors.RevisionNotFoundError:
                if not options.dry_run:
                    api.create_branch(repository, branch=options.revision, exist_ok=True)
                    remote = self._info(options.revision)
        return self._with_content(remote)

    def _info(self, revision: str | None) -> Remote:
        info = api_of(self.hub).model_info(
            self.options.repository, revision=revision, timeout=SECONDS
        )
        files = frozenset(each.rfilename for each in info.siblings or ())
        return Remote(bool(info.private), info.sha, files)

    def _with_content(self, remote: Remote) -> Remote:
        """Read manifest and card of the repository; what is neither empty nor ours is refused."""
        manifest: Mapping[str, Any] | None = None
        if MANIFEST in remote.files:
            try:
                manifest = parse_manifest(self._download(MANIFEST, remote).parent)
            except NewerFormatError:
                manifest = {"files": {}}  # ours, but nobody here knows what it lists
            except LabelgroveError as error:
                raise self._foreign([MANIFEST]) from error
        elif strange := sorted(remote.files - OTHERS):
            raise self._foreign(strange)
        card = None
        if CARD in remote.files:
            try:
                card = parse_card(self._download(CARD, remote).read_text(encoding="utf-8"))
            except ValueError:
                card = Card(edited=True)
        return replace(remote, manifest=manifest, card=card)

    def _foreign(self, names: Sequence[str]) -> InputError:
        return InputError(
            f"{self.options.repository} holds what labelgrove did not write: {named([*names])}. "
            "Nothing is uploaded; push to another repository"
        )

    def _download(self, name: str, remote: Remote) -> Path:
        return Path(self.hub.hf_hub_download(self.options.repository, name, revision=remote.sha))
