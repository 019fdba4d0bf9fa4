"""Features of a run, kept on disk: a resumed training does not compute them again."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from labelgrove._version import __version__
from labelgrove.core import storage
from labelgrove.core.errors import InputError, StorageError
from labelgrove.core.estimator import Featurizer
from labelgrove.core.run_folders import holds_work
from labelgrove.core.types import Run

FOLDER = "features"
WITHOUT_EFFECT = ("threads", "device")  # settings that change how fast features are made, no more


class FeatureCache:
    """Keeps the features of a run in ``features/VIEW/train`` and ``features/VIEW/validation``.

    Only those of featurizers that ask for it (``keeps_features``) are kept, and only if the run
    has a folder. They are used again if the run goes on (``resume``) with the same settings and
    texts; whether the texts are the same, a reading of them tells. They lie beside the
    checkpoints and go with them.

    Parameters
    ----------
    featurizers
        By view; `fit_transform` fits them in place.
    run
        Folder, resume, progress.
    """

    def __init__(self, featurizers: Mapping[str, Featurizer], run: Run) -> None:
        self._featurizers, self._run = featurizers, run
        self._fitted_on: dict[str, str] = {}

    def __bool__(self) -> bool:
        return any(map(self._keeps, self._featurizers.values()))

    def fit_transform(
        self, texts: Iterable[str], others: Mapping[str, Iterable[str]] | None = None
    ) -> dict[str, Any]:
        """Fit the featurizers and return the features by view.

        Parameters
        ----------
        texts
            Read as often as the featurizers need, and once more where other texts are kept.
        others
            Texts of the views that read others.
        """
        own = dict.fromkeys(self._featurizers, texts) | dict(others or {})
        with self._shown():
            return {
                view: self._train(view, part, own[view])
                if self._keeps(part)
                else part.fit_transform(own[view])
                for view, part in self._featurizers.items()
            }

    def transform(self, texts: Iterable[str]) -> dict[str, Any]:
        """Return the features of the validation documents by view."""
        with self._shown():
            return {
                view: self._validation(view, part, texts)
                if self._keeps(part)
                else part.transform(texts)
                for view, part in self._featurizers.items()
            }

    @contextmanager
    def _shown(self) -> Iterator[None]:
        """Let the featurizers show what they do, where the run does."""
        for part in self._featurizers.values():
            part.progress = self._run.progress
        try:
            yield
        finally:
            for part in self._featurizers.values():
                del part.progress  # that of the class again

    def _keeps(self, part: Featurizer) -> bool:
        return self._run.folder is not None and part.keeps_features

    def _train(self, view: str, part: Featurizer, texts: Iterable[str]) -> Any:
        place, hashed = self._place(view, "train"), _Hashed(texts)
        X = self._find(place, _facts(part), hashed)
        if X is None:
            X = part.fit_transform(hashed)
            self._keep(place, _facts(part), hashed, X, part.write)
        else:
            # in memory: the tagger outlives the run's folder
            state = type(part).read(place / "featurizer").state().items()
            part.set_state({k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in state})
        self._fitted_on[view] = hashed.digest
        return X

    def _validation(self, view: str, part: Featurizer, texts: Iterable[str]) -> Any:
        place, hashed = self._place(view, "validation"), _Hashed(texts)
        facts = {**_facts(part), "fitted_on": self._fitted_on[view]}
        X = self._find(place, facts, hashed)
        if X is None:
            X = part.transform(hashed)
            self._keep(place, facts, hashed, X)
        return X

    def _place(self, view: str, name: str) -> Path:
        assert self._run.folder is not None
        return self._run.folder / FOLDER / view / name

    def _find(self, place: Path, facts: Mapping[str, Any], texts: _Hashed) -> Any:
        """Return what is kept of these texts, memory-mapped, or None."""
        if not self._run.resume or not place.exists():
            return None
        try:
            manifest = storage.read_manifest(place)
        except (InputError, StorageError) as error:
            self._run.progress.say(f"features are made anew: {error}")
            return None
        if manifest.get("labelgrove") != __version__:
            return None
        if any(manifest.get(name) != value for name, value in facts.items()):
            self._check_replaceable()
            return None
        deque(texts, maxlen=0)
        if manifest["texts"] != texts.digest:
            self._check_replaceable()
            return None
        X = storage.read_values(place / "values")["X"]
        self._run.progress.say(
            f"{facts['featurizer']} of {X.shape[0]:,} documents are there already"
        )
        return X

    def _check_replaceable(self) -> None:
        """Raise an error if the model has begun to learn from the features that are kept."""
        folder = self._run.folder
        if folder is not None and holds_work(folder / "model"):
            raise InputError(
                f"{folder} holds a training on other documents or with other settings: give those "
                "again, or start anew (resume=False; --overwrite without --resume)"
            )

    def _keep(
        self,
        place: Path,
        facts: Mapping[str, Any],
        texts: _Hashed,
        X: Any,
        write: Callable[[Path], None] | None = None,
    ) -> None:
        about = {**facts, "texts": texts.digest}
        with storage.writing(place, about, overwrite=True) as temporary:
            storage.write_values(temporary / "values", {"X": X})
            if write is not None:
                write(temporary / "featurizer")


class _Hashed:
    """Texts of which, once they are read, ``digest`` stands for all and their order."""

    digest: str

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts

    def __iter__(self) -> Iterator[str]:
        digest = blake2b(digest_size=16)
        for text in self._texts:
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
            yield text
        self.digest = digest.hexdigest()


def _facts(part: Featurizer) -> dict[str, Any]:
    """Return on what, beside the texts, features depend."""
    settings = {k: v for k, v in part.get_params(deep=False).items() if k not in WITHOUT_EFFECT}
    settings = json.loads(json.dumps(settings, default=str))  # as the manifest gives them back
    return {
        "part": "features",
        "labelgrove": __version__,
        "featurizer": part.name,
        "settings": settings,
    }
