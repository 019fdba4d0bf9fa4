"""A training that learns nothing, or takes hours, says so."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove import models
from labelgrove.core.features import TokenSequences
from labelgrove.core.progress import Lines
from labelgrove.core.types import FitContext, Run
from labelgrove.models.neural.plateau import plateau_note
from labelgrove.models.neural.training import loop
from labelgrove.models.neural.training.batches import batch_for
from labelgrove.models.neural.training.pace import LONG, STEPS, Pace

SMALL = {"units": 8, "layers": [8], "vector_size": 8, "threads": 1, "device": "cpu"}
WORDS, LABELS = 40, 10


def planted(n, seed, told=True):
    """Texts of six words; one tells the text's label, or nothing does. Label 0 is frequent."""
    random = np.random.default_rng(seed)
    labels = np.where(random.random(n) < 0.4, 0, random.integers(0, LABELS, n))
    tokens = random.integers(2 + LABELS, WORDS, (n, 6))
    if told:
        tokens[np.arange(n), random.integers(0, 6, n)] = 2 + labels
    X = TokenSequences(tokens.ravel(), 6 * np.arange(n + 1), WORDS)
    Y = csr_array((np.ones(n, np.float32), (np.arange(n), labels)), shape=(n, LABELS))
    return X, Y


def said(capsys, name="attentionxml", told=True, held=True, **settings):
    model = models.create(name, **{**SMALL, **settings})
    validation = planted(100, seed=1, told=told) if held else None
    context = FitContext(validation=validation, run=Run(progress=Lines()))
    model.fit(*planted(200, seed=0, told=told), context=context)
    return capsys.readouterr().err


def test_a_training_that_ends_at_the_frequency_of_labels_says_so(capsys):
    err = said(capsys, told=False, epochs=2)
    (line,) = [line for line in err.splitlines() if line.startswith("warning")]
    assert "little more than how frequent labels are: nDCG@5 on held-out documents is 0." in line
    for way in ("epochs=4", "first=bonsai", "encoder=NAME"):
        assert way in line
    assert "vectors=corpus" not in line, "it has these"


def test_a_network_that_stays_where_it_began_is_stopped(capsys, monkeypatch):
    monkeypatch.setattr(loop, "PLATEAU_STEPS", 30)  # of 13 steps an epoch
    err = said(capsys, told=False, epochs=9, plateau_epochs=2, batch=16)
    assert "stopped early: after 39 steps held-out documents are ranked little better" in err
    assert "warning: this network learned little more than" in err
    on = said(capsys, told=False, epochs=4, plateau_epochs=None, batch=16, patience=9)
    assert "stopped early" not in on


def test_the_way_out_is_another_than_what_was_tried():
    model = models.create("attentionxml", vectors="random", first="bonsai")
    note = plateau_note("nDCG@5", [{"score": 0.1}, {"score": 0.09}], 0.08, model, alone=False)
    assert note is not None
    assert "is 0.100, and 0.080" in note
    assert "vectors=corpus" in note
    assert "first=bonsai" not in note


def test_a_training_that_learns_is_not_warned_of(capsys):
    wide = {"units": 24, "layers": [24], "vector_size": 24, "dropout": 0.1}
    assert "warning" not in said(capsys, epochs=8, learning_rate=0.02, **wide)


def test_nothing_is_said_where_nothing_is_held_out(capsys):
    assert "warning" not in said(capsys, epochs=1, told=False, held=False)


def test_both_figures_are_of_the_same_documents(capsys):
    X, Y = planted(60, 0, told=False)
    held = planted(100, 1, told=False)
    model = models.create("xml-cnn", filters=4, bottleneck=4, vector_size=8, epochs=1, threads=1)
    model.fit(X, Y, context=FitContext(validation=held, run=Run(progress=Lines())))
    order = np.argsort(-np.bincount(Y.indices, minlength=LABELS), kind="stable")[:5].tolist()
    gains = [
        1 / np.log2(2 + order.index(label)) if label in order else 0.0 for label in held[1].indices
    ]
    assert f"and {np.mean(gains):.3f} if every text gets" in capsys.readouterr().err


def test_a_training_of_hours_says_so_after_its_first_steps(capsys):
    err = said(capsys, epochs=10**7, patience=1, learning_rate=1e-7)
    assert err.count("hours at this speed") == 1
    (line,) = [line for line in err.splitlines() if "hours" in line]
    assert "first=bonsai" in line


def test_a_short_training_says_nothing_of_hours(capsys):
    assert "hours" not in said(capsys, epochs=1, batch=4)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_time_is_projected_once(device):
    pace = Pace(10**12, device)
    notes = [pace.note(1) for _ in range(2 * STEPS)]
    (note,) = [note for note in notes if note is not None]
    assert notes.index(note) == STEPS - 1
    assert float(note.split()[3].replace(",", "")) > LONG / 3600
    assert ("GPU" in note) == (device == "cpu")


def test_few_documents_have_as_many_steps_as_many():
    assert [batch_for(n) for n in (1, 1_000, 4_000, 8_000, 10**6)] == [16, 16, 20, 40, 64]


@pytest.mark.parametrize("name", ["attentionxml", "lightattention"])
def test_batches_by_the_number_of_documents_unless_a_size_is_given(name):
    X, Y = planted(200, 0)
    steps = {
        batch: models.create(name, **{**SMALL, "epochs": 1, "batch": batch}).fit(X, Y)
        .history_[-1]["step"]
        for batch in (None, 50)
    }  # fmt: skip
    assert steps == {None: 13, 50: 4}


@pytest.mark.parametrize("name", ["attentionxml", "lightattention"])
def test_labels_begin_at_their_frequency_and_words_with_vectors_of_the_corpus(name):
    model = models.create(name)
    assert model.average_from == 2
    assert (model.prior, model.vectors, model.schedule) == ("frequency", "corpus", "linear")


@pytest.mark.parametrize(("name", "advised"), [("transformer", True), ("xr-transformer", False)])
def test_a_first_stage_is_advised_only_where_there_can_be_one(name, advised):
    told = plateau_note("nDCG@5", [{"score": 0.1}], 0.09, models.create(name), alone=True)
    assert ("first=bonsai" in told) == advised
