"""What is to be done in a search, and what processes are told of it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labelgrove._version import __version__
from labelgrove.core.progress import Progress
from labelgrove.tuning.dataset import Dataset
from labelgrove.tuning.dataset_cache import DatasetCache
from labelgrove.tuning.metric import Metric
from labelgrove.tuning.pool import Message
from labelgrove.tuning.space import Space, Values


@dataclass
class Plan:
    """All that a search needs beside study and processes.

    Parameters
    ----------
    space, metric
        What is searched, and by what.
    datasets
        What trials learn from, by the features they use.
    trials
        How many there are to be.
    prune
        Whether trials may be given up early.
    seed
        Of the search and of the models.
    threads
        Of each process.
    progress
        Where progress is shown.
    ends
        When time is up, on the monotonic clock; None for never.
    given
        Values of the trials under way.
    """

    space: Space
    metric: Metric
    datasets: DatasetCache
    trials: int
    prune: bool
    seed: int
    threads: int
    progress: Progress
    ends: float | None
    given: dict[int, Values] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """Return what the search is made on: other data or ranges make another search."""
        dataset = Dataset.read(self._dataset(self.space.start))
        documents, n_labels = dataset.train[1].shape
        facts = {
            "labelgrove": __version__,
            "model": self.space.model,
            "metric": self.metric.name,
            "ranges": {key: str(each) for key, each in self.space.ranges.items()},
            "settings": dict(self.space.settings),
            "features": {view: dict(own) for view, own in self.space.features.items()},
            "seed": self.seed,
            "training documents": documents,
            "documents to judge by": dataset.held[1].shape[0],
            "labels": min(n_labels, dataset.labels.n_labels),
            "checksum of the data": dataset.checksum(),
        }
        as_saved: dict[str, Any] = json.loads(json.dumps(facts))
        return as_saved

    def order(self, values: Values) -> Message:
        """Return what a process is told to try."""
        settings = self.space.chosen(values)[0]
        return {
            "model": self.space.model,
            "settings": {"seed": self.seed, "threads": self.threads, **settings},
            "dataset": str(self._dataset(values)),
            "metric": self.metric.name,
            "prune": self.prune,
        }

    def _dataset(self, values: Values) -> Path:
        model = self.space.create(values, seed=self.seed, threads=self.threads)
        return self.datasets.find(model, self.space.chosen(values)[1])

    def left(self) -> float | None:
        """Return the seconds that are left, or None if there is no limit."""
        return None if self.ends is None else max(self.ends - time.monotonic(), 0.0)
