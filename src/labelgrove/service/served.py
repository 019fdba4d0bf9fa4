"""A tagger that is served: loaded and warmed up, with its batches, label search and card."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import to_json

from labelgrove.core import storage
from labelgrove.core.progress import Progress, QualityNote
from labelgrove.core.threads import workers
from labelgrove.core.types import Tag
from labelgrove.labels import LabelSpace
from labelgrove.models import MODELS
from labelgrove.models.consensus import Consensus
from labelgrove.service.label_search import LabelSearch
from labelgrove.service.problems import ProblemError
from labelgrove.service.settings import Settings
from labelgrove.tagger import Tagger, explained
from labelgrove.tagger.promises import what_thresholds_give
from labelgrove.tagger.tags import name_tags, needed_depth
from labelgrove.text import FEATURIZERS
from labelgrove.text.copies import text_hash

HINTED, LONGEST_HINTED = 10_000, 100  # labels, and letters, among which similar ones are found fast
VERSION_DIGITS = 12  # of the 64 of a checksum: enough to tell all versions apart
FIRST_TEXT = "a first text, so that nobody has to wait for what is compiled or read"


log = logging.getLogger("labelgrove.service")


class Tagging(NamedTuple):
    """Texts to be tagged: so many labels each, with this threshold and way with broader ones."""

    texts: Sequence[str]
    k: int
    threshold: float | str | None
    hierarchy: str | None = None


class Explaining(NamedTuple):
    """A label of a text to be explained, given by its id."""

    text: str
    label: str


Question = Tagging | Explaining


class Served:
    """A saved tagger in memory; what is asked of it is asked by one thread at a time.

    Parameters
    ----------
    name
        What requests call it.
    folder
        Where it is saved.
    settings
        The service's.
    verify
        Compare checksums first.
    progress
        Where loading is shown.
    """

    def __init__(
        self,
        name: str,
        folder: str,
        settings: Settings,
        *,
        verify: bool = True,
        progress: Progress | None = None,
    ) -> None:
        self.name = name
        self.manifest, self.tagger, size = storage.read_folder(
            folder,
            _read,
            verify=verify,
            progress=progress,
            signed_by=settings.signed_by if verify else None,
        )
        self.tagger.set_threads(settings.threads or max(1, workers(None) // settings.workers))
        self.card = self._card(size)
        self._written: dict[str, bytes] = {}
        self._search = LabelSearch(self.labels)
        self._top = self._by_name(
            number for number in range(len(self.labels)) if not self.labels.parents[number]
        )
        for tags in self.tagger.tag([FIRST_TEXT], k=1):
            for tag in tags:
                self.tagger.explain(FIRST_TEXT, tag.label)
        self.labels.lookup(FIRST_TEXT)

    @cached_property
    def concurrent(self) -> bool:
        """Whether two threads may ask it at once: models without torch and their features.

        A consensus or a rerank may hold any model, so that nothing is known of it.
        """
        if self.manifest["model"] in (Consensus.name, "rerank"):
            return False
        featurizers = FEATURIZERS.entries()
        used = [MODELS.entries().get(self.manifest["model"])]
        used += [featurizers.get(part["name"]) for part in self.manifest["features"].values()]
        return all(each and each.path.startswith("labelgrove.") and not each.extra for each in used)

    @property
    def version(self) -> str:
        """What tells this saved tagger from others: its checksum in the manifest, shortened."""
        return str(self.manifest["checksum"])[:VERSION_DIGITS]

    @property
    def labels(self) -> LabelSpace:
        """The labels it knows."""
        return self.tagger.labels_

    def answer(self, questions: Sequence[Question]) -> list[bytes | Exception]:
        """Return JSON for each question, or why there is none; texts are tagged together.

        For a `Tagging` it is the results of its texts, separated by commas.
        """
        answers: list[bytes | Exception] = [b""] * len(questions)
        together: dict[int, list[tuple[int, Tagging]]] = {}
        for number, question in enumerate(questions):
            try:
                if isinstance(question, Tagging):
                    depth = needed_depth(self.tagger.learned_, *question[1:])
                    together.setdefault(depth, []).append((number, question))
                else:
                    answers[number] = self._explain(question)
            except Exception as error:
                answers[number] = error
        for depth, asked in together.items():
            try:
                self._tag(depth, asked, answers)
            except Exception:  # whose fault it is shows when each is asked alone
                for each in asked:
                    try:
                        self._tag(depth, [each], answers)
                    except Exception as error:
                        answers[each[0]] = error
        return answers

    def _tag(
        self,
        depth: int,
        asked: Sequence[tuple[int, Tagging]],
        answers: list[bytes | Exception],
    ) -> None:
        """Tag all texts for which so many labels are to be ranked."""
        ranking = self.tagger.rank([text for _, each in asked for text in each.texts], depth)
        for note in self.tagger.model_.take_notes():
            level = logging.WARNING if isinstance(note, QualityNote) else logging.INFO
            log.log(level, "%s: %s", self.name, note)
        start = 0
        for number, each in asked:
            end = start + len(each.texts)
            rows = name_tags(self.tagger.learned_, ranking[start:end], *each[1:])
            answers[number] = b",".join(map(self._result, rows))
            start = end

    def _result(self, tags: Sequence[Tag]) -> bytes:
        """Return a text's labels as JSON; all of a label but its score was written before."""
        return b'{"labels":[%b]}' % b",".join(
            b"%b%.6g}" % (self._written.get(tag.label) or self._write(tag), tag.score)
            for tag in tags
        )

    def _write(self, tag: Tag) -> bytes:
        named = to_json({"label": tag.label, "name": tag.name})
        written = self._written[tag.label] = named[:-1] + b',"score":'
        return written

    def _explain(self, question: Explaining) -> bytes:
        explanation = next(explained(self.tagger, question.text, [question.label]))
        return to_json({"model": self.name, **explanation.record()})

    def has_learned(self, text: str) -> bool | None:
        """Tell whether it has learned from this text; None if it does not know."""
        known = self.tagger.learned_.are_learned([text_hash(text)])
        return None if known is None else bool(known[0])

    # --- labels -------------------------------------------------------------------------------

    def _by_name(self, numbers: Iterable[int]) -> list[int]:
        names, ids = self.labels.names, self.labels.ids
        return sorted(numbers, key=lambda number: (names[number].casefold(), ids[number]))

    def number(self, label: str) -> int:
        """Return the number of a label that is given by id or name.

        Where labels are many, or the name is long, an error does not look for similar ones.
        """
        space = self.labels
        if space.lookup(label) or (len(space) <= HINTED and len(label) <= LONGEST_HINTED):
            return space.find(label)
        raise ProblemError(
            404, f"unknown label {label[:LONGEST_HINTED]!r}; GET /v1/labels?q=... finds labels"
        )

    def find(self, beginning: str, offset: int, limit: int) -> list[int]:
        """Return the numbers of labels of whose name or id a word begins so."""
        return self._search.find(beginning, offset, limit)

    def below(self, parent: int | None, offset: int, limit: int) -> list[int]:
        """Return the numbers of what lies right below a label, or of the top level, by name."""
        level = self._top if parent is None else self._by_name(self.labels.children(parent))
        return level[offset : offset + limit]

    def entry(self, number: int) -> dict[str, Any]:
        """Return what there is to know of a label."""
        space = self.labels
        learned = number < space.n_labels
        return {
            "label": space.ids[number],
            "name": space.names[number],
            "description": space.descriptions[number],
            "documents": int(space.counts[number]) if learned else 0,
            "learned": learned,
            "path": [
                {"label": space.ids[each], "name": space.names[each]}
                for each in space.path(number)[:-1]
            ],
            "children": len(space.children(number)),
        }

    # --- card ---------------------------------------------------------------------------------

    def _card(self, size: int) -> dict[str, Any]:
        """Return the model card, but for what depends on the service."""
        manifest = self.manifest
        known = MODELS.entries().get(manifest["model"])
        tuned = self.tagger.learned_.tuned
        return {
            "name": self.name,
            "version": self.version,
            "model": manifest["model"],
            "summary": known.summary if known else "",
            "paper": known.paper if known else "",
            "labels": manifest["labels"],
            "documents": manifest["documents"],
            "hierarchy": len(self.labels.parents.indices) > 0,
            "bytes": size,
            "created": manifest["created"],
            "loaded": datetime.now(UTC).isoformat(timespec="seconds"),
            "labelgrove": manifest["labelgrove"],
            "settings": _public(manifest["settings"]),
            "features": {
                view: {"name": part["name"], "settings": _public(part["settings"])}
                for view, part in manifest["features"].items()
            },
            "scores": dict(manifest["scores"]),
            "thresholds": dict(manifest["thresholds"]) if tuned else None,
            "by_threshold": what_thresholds_give(self.tagger.learned_),
            "reading": {
                name: value
                for name, value in self.tagger.learned_.reading.items()
                if name != "merge"
            },
        }


def _read(place: Path, manifest: dict[str, Any]) -> tuple[dict[str, Any], Tagger, int]:
    """Return manifest, tagger and size of a saved folder whose checksums have been compared."""
    return manifest, Tagger.load(place, verify=False), storage.size(place)


def _public(value: Any) -> Any:
    """Return settings for strangers: of a path on this machine only its last part."""
    if isinstance(value, dict):
        return {name: _public(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_public(each) for each in value]
    if isinstance(value, str) and Path(value).is_absolute():
        return Path(value).name
    return value
