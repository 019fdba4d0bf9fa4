"""A linear layer from the mean of a text's vectors to clusters of labels."""

from __future__ import annotations

from torch import Tensor, nn

from labelgrove.models.neural.readers.base import Reading, mean_of
from labelgrove.models.neural.scorers.base import Scorer


class Generator(Scorer):
    """Judges clusters of labels, from which candidates are then chosen.

    Parameters
    ----------
    n_inputs
        Size of a token's vector.
    n_clusters
        Number of clusters.
    """

    def __init__(self, n_inputs: int, n_clusters: int) -> None:
        super().__init__()
        self.n_labels = n_clusters
        self.output = nn.Linear(n_inputs, n_clusters)
        nn.init.xavier_uniform_(self.output.weight)

    def logits(
        self, reading: Reading, labels: Tensor | None = None, prior: Tensor | None = None
    ) -> Tensor:
        """Return log odds of all clusters (b, K), or of given ones (b, C)."""
        logits: Tensor = self.output(mean_of(reading.vectors, reading.mask))
        if labels is not None:
            logits = logits.gather(1, labels.clamp(min=0))
        return logits if prior is None else logits + prior

    def kept(self, longest: int, judged: int | None) -> int:
        """Return the numbers that learning keeps for one text."""
        return 3 * self.n_labels
