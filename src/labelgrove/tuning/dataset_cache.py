"""One dataset for each choice of features: made once, then shared by all trials that use it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from labelgrove.core.estimator import Classifier
from labelgrove.core.progress import Progress
from labelgrove.core.types import Run
from labelgrove.corpus import Corpus
from labelgrove.labels import Vocabulary
from labelgrove.tagger.learning import new_featurizers, prepare
from labelgrove.tuning.dataset import Dataset


class DatasetCache:
    """Makes datasets from a corpus and keeps them in a folder.

    Parameters
    ----------
    corpus
        Documents with labels.
    vocabulary
        Names and hierarchy of the labels.
    validation
        Documents to judge by, or the share of the corpus to hold out by a hash of the text.
    seed, threads
        Of that hash; of the featurizers.
    folder
        Where to keep them.
    progress
        Where progress is shown.
    """

    def __init__(
        self,
        corpus: Corpus,
        vocabulary: Vocabulary | None,
        validation: Corpus | float,
        *,
        seed: int,
        threads: int | None,
        folder: Path,
        progress: Progress,
    ) -> None:
        self._corpus, self._vocabulary, self._validation = corpus, vocabulary, validation
        self._seed, self._threads = seed, threads
        self._folder, self._run = folder, Run(progress=progress)

    def find(self, model: Classifier, features: Mapping[str, Mapping[str, Any]]) -> Path:
        """Return the folder of the dataset that a model reads; make it if it is missing.

        Parameters
        ----------
        model
            Unfitted; it tells what views of the text it wants.
        features
            Settings of the views that replace the model's own.
        """
        parts = new_featurizers(model.views(), features or None, self._corpus, self._threads)
        known = {view: [part.name, part.get_params(deep=False)] for view, part in parts.items()}
        text = json.dumps(known, sort_keys=True, default=str)
        folder = self._folder / blake2b(text.encode(), digest_size=8).hexdigest()
        if not folder.exists():
            task = prepare(
                self._corpus,
                model,
                parts,
                vocabulary=self._vocabulary,
                validation=self._validation,
                seed=self._seed,
                run=self._run,
                hashed=True,
            )
            part = folder.with_suffix(".part")  # left behind if this fails, and then made anew
            shutil.rmtree(part, ignore_errors=True)
            Dataset.of(task).write(part)
            part.rename(folder)
        return folder
