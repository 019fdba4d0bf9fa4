"""A chain of binary linear classifiers; each also sees the labels predicted before it.

Read, Pfahringer, Holmes and Frank, "Classifier chains for multi-label classification", Machine
Learning 85, 2011.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features
from labelgrove.core.random import generator
from labelgrove.core.ranges import Choice, Real
from labelgrove.core.ranking import Ranking
from labelgrove.core.settings import setting
from labelgrove.core.threads import workers
from labelgrove.core.types import FitContext
from labelgrove.models.linear.chain_training import train_chains
from labelgrove.models.linear.classifier import LinearForest
from labelgrove.models.linear.forest import CELLS, FEW
from labelgrove.models.linear.solver import Solver

MANY = 3_000
TOO_MANY = 20_000


class ClassifierChain(LinearForest):
    """A linear classifier for every label that sees the text and the labels before it in a chain.

    In training these are the true labels, so that all classifiers are trained at once; while
    ranking they are what the chain has said of them. With one chain, a text's labels are the
    greedy choice of a whole set of labels, where one-vs-rest decides on each alone.

    Time grows with documents x labels as that of one-vs-rest does, and at worst with the square
    of the labels too, since every label can have a weight for every later one. Beyond 20,000
    labels it refuses, from 3,000 on it says what it is about to do.

    Attributes
    ----------
    links_
        What a label adds to the scores of later ones, shape (chains L, L), by places in a chain.

    Examples
    --------
    >>> X = csr_array(np.eye(3, dtype=np.float32))
    >>> ClassifierChain().fit(X, X).rank(X, k=1).labels.ravel().tolist()
    [0, 1, 2]
    """

    name: ClassVar[str] = "classifier-chain"

    order: Literal["frequency", "random"] = setting(
        "frequency",
        "Order of the labels in the first chain: the most frequent first, or random.",
        search=Choice(("frequency", "random")),
    )
    chains: int = setting(
        1,
        "Number of chains. Their probabilities are averaged. All but the first have a random "
        "order.",
        least=1,
    )
    pass_on: Literal["decisions", "probabilities"] = setting(
        "decisions",
        "What later labels see while ranking: 1 for a label whose probability is above a half and "
        "0 for others, or the probabilities themselves.",
        search=Choice(("decisions", "probabilities")),
    )
    link: float = setting(
        1.0,
        "Value of a label as a feature, beside the features of a text, whose squares sum to 1. "
        "The smaller it is, the less a label depends on the labels before it.",
        least=1e-3,
        most=1e3,
        search=Real(0.1, 1.0, log=True),
    )

    links_: csr_array

    estimate = Classifier.estimate  # it cannot tell: nobody has measured what links cost

    def _train(
        self,
        X: csr_array,
        dense: NDArray[np.float32] | None,
        Y: csr_array,
        solver: Solver,
        context: FitContext,
    ) -> None:
        n_labels = Y.shape[1]
        if n_labels > TOO_MANY:
            raise InputError(
                f"{n_labels:,} labels are too many for {self.name}, which takes up to "
                f"{TOO_MANY:,}: take bonsai, or fewer labels"
            )
        if n_labels > MANY:
            context.run.progress.say(
                f"a chain of {n_labels:,} labels can have {n_labels * (n_labels - 1) // 2:,} "
                "weights between them: bonsai is much faster"
            )
        orders = [self._order(Y, number) for number in range(self.chains)]
        self.forest_, self.links_ = train_chains(
            X, Y, orders, float(self.link), solver, context.run, self.threads, dense
        )

    def _order(self, Y: csr_array, number: int) -> NDArray[np.int64]:
        """Return the labels in the order of a chain, shape (L,)."""
        if self.order == "frequency" and number == 0:
            counts = np.bincount(Y.indices, minlength=Y.shape[1])
            return np.argsort(-counts, kind="stable")
        return generator(self.seed, "order of a chain", number).permutation(Y.shape[1])

    def check_state(self) -> None:
        """Refuse links between other labels, and labels below more than a root."""
        super().check_state()
        n_chains, n_labels = len(self.forest_.roots), self.n_labels_
        if (self.forest_.depths != 1).any():
            raise ValueError("depths must be 1: the labels of a chain are below its root")
        if not isinstance(self.links_, csr_array) or self.links_.shape != (
            n_chains * n_labels,
            n_labels,
        ):
            raise ValueError(f"links_ must have shape {(n_chains * n_labels, n_labels)}")
        checks.array("links_", self.links_.data, np.float32, (None,))

    def _rank(self, X: Features, k: int) -> Ranking:
        rows, dense = self._known_columns(X)
        n = rows.shape[0]
        n_threads = 1 if n <= FEW else workers(self.threads)
        size = max(1, min(-(-n // n_threads), CELLS // (self.n_labels_ * n_threads)))
        starts = range(0, n, size)

        def work(first: int) -> Ranking:
            return self._rank_rows(rows, dense, first, min(first + size, n), k)

        if n_threads == 1:
            return Ranking.concatenate([*map(work, starts)] or [Ranking.empty(0, k)])
        with ThreadPoolExecutor(n_threads) as pool:
            return Ranking.concatenate(list(pool.map(work, starts)))

    def _rank_rows(
        self, X: csr_array, dense: NDArray[np.float32] | None, first: int, last: int, k: int
    ) -> Ranking:
        """Rank the rows from ``first`` to before ``last``, by the mean of all chains."""
        from labelgrove.models.linear import chain_kernels as kernels

        tables, links = self.forest_.tables, self.links_
        shape = (last - first, self.n_labels_)
        scores = np.empty(shape, np.float32)
        # float32 would round the probabilities of labels that are nearly sure to the same 1
        total = np.zeros(shape, np.float64)
        for number, root in enumerate(self.forest_.roots.tolist()):
            kernels.score_root(
                *(X.indptr, X.indices, X.data, dense, first, last, root, tables, scores)
            )
            kernels.follow(
                *(scores, links.indptr[number * shape[1] :], links.indices, links.data),
                tables.child[tables.child_ptr[root] : tables.child_ptr[root + 1]],
                *(np.float32(self.sharpness), self.pass_on == "decisions", total),
            )
        return Ranking.from_dense(total / len(self.forest_.roots), k)
