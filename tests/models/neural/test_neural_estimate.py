"""What a training will take is told before, and refused where memory will not do."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove import Tagger, models
from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.types import FitContext
from labelgrove.models.contract import known_answer
from labelgrove.models.neural.training import estimate
from labelgrove.models.neural.training.settings import Training

sys.path.append(str(Path(__file__).parents[2]))  # also in the process that is measured
from tokenizer_folders import minilm

SMALL = {"epochs": 1, "threads": 1, "device": "cpu", "seed": 0}
CASES = {
    "flat": ("attentionxml", 1500, 100, {"units": 64, "layers": [64], "tree": "never"}),
    "tree": ("attentionxml", 60_000, 30, {"units": 128, "layers": [64], "tree": "always"}),
    "light": ("lightattention", 60_000, 30, {"units": 128}),
    "uniform": ("lightattention", 20_000, 30, {"units": 128, "sampler": "uniform"}),
    "cnn": ("xml-cnn", 20_000, 200, {"filters": 64}),
    "rnn": ("xml-rnn", 20_000, 200, {"units": 128}),
    "clusters": ("xml-rnn", 60_000, 30, {"units": 128, "output": "clusters"}),
    "names": ("lsan", 1500, 100, {"units": 64}),
    "like labels": ("leam", 1500, 100, {"vector_size": 100}),
    "blocks": ("cornet", 20_000, 100, {"filters": 64, "cornet_size": 200}),
    "rounds": ("ml-reasoner", 20_000, 100, {"filters": 64}),
    "transformer": ("transformer", 500, 120, {"encoder": str(minilm()), "length": 128}),
    "generator": ("lightxml", 60_000, 30, {"encoder": str(minilm()), "length": 32, "frozen": 4}),
    "frozen": ("transformer", 500, 120, {"encoder": str(minilm()), "length": 128, "frozen": 4}),
}


def planted(n_labels, n_words, n=80, n_terms=20_000):
    random = np.random.default_rng(0)
    tokens = random.integers(2, n_terms, n * n_words).astype(np.int32)
    X = TokenSequences(tokens, np.arange(n + 1) * n_words, n_terms)
    rows, labels = np.repeat(np.arange(n), 3), random.integers(0, n_labels, 3 * n)
    return X, csr_array((np.ones(3 * n, np.float32), (rows, labels)), (n, n_labels))


def trained(case):
    """Train in this process, and return the estimated and the real peak of its memory."""
    name, n_labels, n_words, settings = CASES[case]
    X, Y = planted(n_labels, n_words, n_terms=30_522 if "encoder" in settings else 20_000)
    model = models.create(name, batch=40, **SMALL, **settings)
    told = model._memory(X, np.bincount(Y.indices, minlength=n_labels), two_stages=False)
    model.fit(X, Y)
    return {"told": told, "peak": peak()}


def peak():
    """Return the most bytes that this process held; Linux' ru_maxrss counts its parent's too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells")
@pytest.mark.parametrize("case", CASES)
def test_memory_is_near_what_is_used(case):
    done = subprocess.run(
        [sys.executable, __file__, case], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert 0.7 < found["told"] / found["peak"] < 1.6


def test_memory_counts_networks_once_and_the_largest_with_all_its_copies():
    sizes = [estimate.Size(1000, 7), estimate.Size(3000, 5)]
    told = estimate.memory(sizes, Training(), data=11)
    assert told - estimate.BASE == 11 + 4 * (4000 + 4 * 3000 + 2 * 5)
    kept = [estimate.Size(1000, 7), estimate.Size(3000, 5, frozen=2000)]
    assert told - estimate.memory(kept, Training(), data=11) == 4 * 3 * 2000
    averaged = estimate.memory(sizes, Training(average_from=1), data=11)
    assert averaged - told == 4 * 3000


def test_too_much_is_refused_before_it_begins():
    X, Y = planted(50, 20)
    model = models.create("attentionxml", batch=10**9, **SMALL)
    with pytest.raises(
        InputError, match=r"needs about [\d.]+ GB of memory, and [\d.]+ GB are free"
    ):
        model.fit(X, Y)
    with pytest.raises(InputError, match="lower batch, length, units"):
        model.estimate(X, Y, FitContext())


def test_a_tagger_tells_and_keeps_nothing():
    texts, labels = known_answer(200)
    model = models.create("xml-rnn", units=8, vector_size=8, **SMALL)
    tagger = Tagger(model)
    told = tagger.estimate(texts, labels)
    assert told.seconds > 0
    assert told.memory > estimate.BASE
    assert not hasattr(tagger, "learned_")
    with pytest.raises(InputError, match="knn cannot tell in advance"):
        Tagger("knn").estimate(texts, labels)


if __name__ == "__main__":
    print(json.dumps(trained(sys.argv[1])))
