"""What a linear training will take, told before it."""

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

from labelgrove.core.errors import InputError
from labelgrove.core.types import Estimate, FitContext
from labelgrove.models.linear import estimating
from labelgrove.models.linear.bonsai import Bonsai
from labelgrove.models.linear.classifier_chain import ClassifierChain
from labelgrove.models.linear.one_vs_rest import OneVsRest
from labelgrove.tagger import Tagger


def planted(n=400, n_labels=80, seed=0):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, n_labels)) < 3 / n_labels).astype(np.float32)
    return csr_array(Y), csr_array(Y)


@pytest.fixture
def learned(monkeypatch):
    """The documents and tasks that were learned from, and a clock that ticks with them."""
    seen, original = [], estimating.train_task

    def counted(x, level, solver, task):
        seen.append((x.X.shape[0], level.work(task)))
        return original(x, level, solver, task)

    monkeypatch.setattr(estimating, "train_task", counted)
    clock = lambda: float(sum(work for _, work in seen))  # noqa: E731
    monkeypatch.setattr(estimating.time, "perf_counter", clock)
    monkeypatch.setattr(estimating, "SECONDS", float("inf"))
    return seen


def told(model, X, Y):
    return model.estimate(X, Y, FitContext())


def test_what_some_tasks_take_is_taken_for_all(learned):
    X, Y = planted()
    found = told(OneVsRest(threads=2), X, Y)
    # a second for a document and label: 400 x 80 of them
    assert found.divisible == pytest.approx(400 * 80)
    assert found.seconds == pytest.approx(400 * 80 / 2)
    assert found.memory > 0


def test_a_part_of_many_documents_tells_of_all(learned, monkeypatch):
    monkeypatch.setattr(estimating, "MOST_DOCUMENTS", 100)
    X, Y = planted()
    found = told(OneVsRest(threads=1), X, Y)
    assert {n for n, _ in learned} == {100}
    assert found.divisible == pytest.approx(400 * 80)


def test_levels_of_trees_count_with_their_negatives(learned):
    X, Y = planted()
    few, many = (
        told(Bonsai(trees=1, max_leaf=5, branching=4, negatives=n, threads=1), X, Y).divisible
        for n in (0, 8)
    )
    assert many > few > 400 * 4


def test_the_time_for_samples_is_bounded(learned, monkeypatch):
    monkeypatch.setattr(estimating, "SECONDS", 0.0)
    X, Y = planted()
    told(OneVsRest(threads=1), X, Y)
    assert len(learned) == 2, "one to compile, and one"


def test_more_documents_need_more_memory():
    X, Y = planted()
    one, two = told(OneVsRest(), X, Y), told(OneVsRest(), vstack([X, X]), vstack([Y, Y]))
    assert two.memory > one.memory


def test_a_tagger_counts_both_trainings():
    rng = np.random.default_rng(0)
    labels = [[f"label{n}" for n in rng.integers(0, 30, 2)] for _ in range(200)]
    texts = [" ".join(f"w{each}" for each in row) for row in labels]
    tagger = Tagger("one-vs-rest")
    calls = []

    class Told(OneVsRest):
        def estimate(self, X, Y, context):
            calls.append(X.shape[0])
            return Estimate(10.0, 1, None, divisible=4.0)

    tagger.model = Told()
    found = tagger.estimate(texts, labels)
    (n,) = calls
    assert 100 < n < 200, "some are held out"
    assert found.seconds == pytest.approx(10 * (1 + 200 / n))
    assert found.divisible == pytest.approx(4 * (1 + 200 / n))


def test_a_cluster_divides_what_divides():
    needed = Estimate(100.0, 1, None, divisible=160.0)  # 80 s of two threads, and 20 s beside
    assert needed.on_cluster(8, threads=2) == 20 + 160 / 8
    network = needed._replace(processes=4, exchanged=5 * 10**9)  # 8 CPUs: 4 processes of 2
    assert network.on_cluster(8, threads=2) == 20 + 160 / 8 + 2 * 3 / 4 * 5 / 1.25
    assert network.on_cluster(1, threads=2) == 20 + 160, "nothing is exchanged"


def test_chains_cannot_tell():
    with pytest.raises(InputError, match="classifier-chain cannot tell in advance"):
        Tagger(ClassifierChain()).estimate(["a"], [["b"]])
