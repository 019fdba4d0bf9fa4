"""Labels written one after the other, against every sequence that there is."""

from itertools import permutations

import numpy as np
import pytest
import torch
from torch import nn

from label_writers import END, START, reading, truth, writer
from labelgrove import Tagger, models
from labelgrove.core.errors import InputError
from labelgrove.core.progress import Lines
from labelgrove.core.types import Run
from labelgrove.models.contract import known_answer
from labelgrove.models.neural import sequences
from labelgrove.models.neural.examples import small_bert
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers import beams as beam_search
from labelgrove.models.neural.scorers.beams import Beams, search
from labelgrove.models.neural.scorers.label_sequence import SequenceScorer

SMALL = {"vector_size": 8, "units": 8, "hidden": 8, "epochs": 1, "batch": 16, "beams": 2,
         "device": "cpu", "threads": 1}  # fmt: skip


def all_sequences(most):
    """Return every order of every set of labels, up to so many."""
    return [order for n in range(most + 1) for order in permutations(range(3), n)]


def probability(write, read, order, most):
    """Return the probability of one sequence for each text, one label after the other."""
    ids = torch.tensor([[*order, END]]).expand(len(read.mask), -1)
    own = write.log_chances(read, ids, masked=True)
    return (own[:, :most] if len(order) == most else own).sum(1).exp().numpy()


@pytest.mark.parametrize(
    ("kind", "mixes"), [("lstm", False), ("lstm", True), ("transformer", False)]
)
@pytest.mark.parametrize("most", [2, 3])
def test_wide_beams_are_all_sequences(kind, mixes, most, monkeypatch):
    monkeypatch.setattr(beam_search, "GIVEN_UP", np.inf)
    write, read = writer(kind, mixes), reading()
    orders = all_sequences(most)
    beams = search(write, read, n=len(orders), most=most)
    each = np.array([probability(write, read, order, most) for order in orders])
    assert np.allclose(each.sum(0), 1, atol=1e-5)
    for text in range(2):
        for labels in {frozenset(order) for order in orders}:
            wanted = sum(
                share[text] for order, share in zip(orders, each, strict=True) if {*order} == labels
            )
            row = torch.tensor([label in labels for label in range(3)])
            same = (beams.sets[text] == row).all(1)
            assert np.isclose(float(beams.weights[text][same].sum()), wanted, atol=1e-5)


def test_what_is_far_behind_does_not_go_on(monkeypatch):
    write, read = writer(), reading()
    every = search(write, read, n=16, most=3)
    monkeypatch.setattr(beam_search, "GIVEN_UP", 0.5)
    few = search(write, read, n=16, most=3)
    assert (few.weights > 0).sum() < (every.weights > 0).sum()
    best = few.weights.max(1, keepdim=True).values
    assert (few.weights[few.weights > 0] >= best.min() * np.exp(-0.5) - 1e-6).all()


def test_one_beam_is_the_greedy_sequence_and_what_it_reached():
    write, read = writer(), reading()
    beams, written = search(write, read, n=1, most=3), write.write(read, 3)
    for text, row in enumerate(written.tolist()):
        assert {*beams.sets[text, 0].nonzero()[:, 0].tolist()} == {*row} - {END}
    chances = write.along(read, written, masked=True).exp()
    missed = ((1 - chances) ** write.until_end(written)[:, :, None]).prod(1)[:, :3]
    assert torch.allclose(beams.reached[:, 0], 1 - missed, atol=1e-5)


def test_sequences_of_a_text_do_not_depend_on_others():
    write, read = writer("transformer"), reading()
    one = Reading(read.vectors[:1, :2], read.mask[:1, :2], lambda: read.pooled[:1])
    alone, together = search(write, one, 4, 3), search(write, read, 4, 3)
    assert torch.allclose(alone.weights[0], together.weights[0], atol=1e-5)


def test_scores_by_hand():
    sets = torch.tensor([[[1, 1, 0], [1, 0, 1], [1, 1, 0]]]).bool()
    reached = torch.tensor([[[1.0, 0.5, 0.1], [0.8, 0.2, 0.6], [1.0, 0.4, 0.0]]])
    beams = Beams(torch.tensor([[0.3, 0.45, 0.25]]), sets, reached)
    assert beams.decided().tolist() == [[True, True, False]]  # two orders of one set: 0.55
    shares = [  # (in the sequence + reached) / 2, by the weights
        0.3 * 1.0 + 0.45 * 0.9 + 0.25 * 1.0,
        0.3 * 0.75 + 0.45 * 0.1 + 0.25 * 0.7,
        0.3 * 0.05 + 0.45 * 0.8 + 0.25 * 0.0,
    ]
    wanted = [0.5 + shares[0] / 2, 0.5 + shares[1] / 2, shares[2] / 2]
    assert np.allclose(beams.scores_of_sets()[0], wanted)
    chances = [0.3 + 0.45 * 0.8 + 0.25, 0.15 + 0.09 + 0.1, 0.03 + 0.27]
    assert np.allclose(beams.chances()[0], chances)


def test_labels_stand_in_the_order_of_frequency_with_an_end():
    scorer = SequenceScorer(writer(), START, beams=2, most=3)
    found = scorer.sequences(truth([2, 0, 1], [], [0]), 3)
    assert found.tolist() == [[1, 0, 2], [END, END, END], [0, END, END]]  # no more than three
    assert scorer.sequences(truth([0, 2], [1]), 2).tolist() == [[0, 2, END], [1, END, END]]
    short = SequenceScorer(writer(), START, beams=2, most=1)
    assert short.sequences(truth([2, 0, 1], []), 2).tolist() == [[1], [END]]


def test_the_loss_is_that_of_each_step():
    write, read = writer(), reading()
    scorer = SequenceScorer(write, START, beams=2, most=3)
    loss = float(scorer.loss(read, None, None, truth([0, 1], [])))
    chances = write.along(read, torch.tensor([[1, 0, END], [END, END, END]]), masked=False)
    steps = [chances[0, 0, 1], chances[0, 1, 0], chances[0, 2, END], chances[1, 0, END]]
    assert np.isclose(loss, -float(sum(steps)) / 4)


def test_masked_probabilities_leave_out_what_is_written():
    write, read = writer(), reading()
    ids = torch.tensor([[1, 0, END], [2, END, END]])
    plain, masked = write.along(read, ids, masked=False), write.along(read, ids, masked=True)
    assert torch.isinf(masked[0, 2, [0, 1]]).all()
    assert torch.isinf(masked[1, 1:, 2]).all()
    left = plain[0, 2, [2, END]]
    assert torch.allclose(masked[0, 2, [2, END]], left - left.logsumexp(0), atol=1e-5)


def test_log_odds_are_those_of_the_greedy_sequence():
    write, read = writer(), reading(1)
    scorer = SequenceScorer(write, START, beams=1, most=3)
    reached = search(write, read, 1, 3).reached[0, 0]
    for label in range(3):
        odds = scorer.log_odds(read, label, None)
        assert torch.allclose(odds.sigmoid(), reached[label], atol=1e-4)


def test_a_text_without_tokens_gives_numbers():
    read = reading()
    empty = Reading(read.vectors, torch.zeros_like(read.mask), read.pool)
    for kind in ("lstm", "transformer"):
        assert search(writer(kind), empty, 3, 3).chances().isfinite().all()


def test_before_learning_labels_are_as_probable_as_frequent():
    write = writer()
    nn.init.zeros_(write.output.weight)
    first = write.step(reading(), write.begin(reading()))[0].exp()
    assert torch.allclose(first[0], torch.tensor([5.5, 9.5, 2.5, 12.5]) / 30)


def test_what_is_decided_is_above_one_half():
    texts, labels = known_answer(300)
    labels[::3] = [[] for _ in labels[::3]]
    texts[::3] = ["nothing of note here" for _ in texts[::3]]
    settings = {**SMALL, "epochs": 8, "learning_rate": 0.03, "units": 24, "hidden": 24,
                "scores": "set"}  # fmt: skip
    tagger = Tagger(models.create("seq2seq", **settings), validation=0).fit(texts, labels)
    given = tagger.tag(texts[:90], k=12, threshold=0.5)
    assert not any(given[::3])
    found = [{tag.label for tag in tags} for tags in given]
    right = [found[i] == {*labels[i]} for i in range(90) if labels[i]]
    assert np.mean(right) > 0.5  # hardly any by chance, with twelve labels


@pytest.mark.parametrize("decoder", ["lstm", "transformer"])
def test_behind_a_pretrained_transformer(decoder, tmp_path):
    texts, labels = known_answer(60)
    settings = {k: v for k, v in SMALL.items() if k not in ("vector_size", "units")}
    model = models.create(
        "seq2seq", **settings, decoder=decoder, encoder=small_bert(tmp_path), length=24
    )
    tagger = Tagger(model).fit(texts, labels)
    best = tagger.tag(texts[0], k=12)
    assert len(best) == 12
    assert len(tagger.explain(texts[0], best[0].label))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"first": "bonsai"}, "first='bonsai' has no effect: seq2seq writes labels out of all"),
        ({"decoder": "transformer", "hidden": 6}, "hidden=6 must be a multiple of 4"),
        ({"beams": 0}, "beams must be a whole number from 1"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        models.create("seq2seq", **settings).check_settings()


def test_many_labels_are_warned_of(monkeypatch, capsys):
    monkeypatch.setattr(sequences, "MANY", 5)
    model = models.create("seq2seq", **SMALL)
    Tagger(model).fit(*known_answer(60), run=Run(progress=Lines()))
    assert "weighs all 12 labels at each step" in capsys.readouterr().err
