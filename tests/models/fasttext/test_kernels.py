"""The kernels against plain numpy and numbers by hand."""

import numpy as np
import pytest

from labelgrove.models.fasttext import kernels
from labelgrove.models.fasttext.outputs import sigmoids

TOKENS = np.array([5, 3, 1, 4, 1], np.int32)  # two texts; 1 is an unknown word
OFFSETS = np.array([0, 4, 5])


def test_rows_are_words_and_runs_without_unknown_words():
    ids, ptr = kernels.rows_of_words(TOKENS, OFFSETS, 6, 2, 10)
    assert ptr.tolist() == [0, 4, 4]
    assert ids[[0, 2, 3]].tolist() == [5, 3, 4]
    assert 6 <= ids[1] < 16
    alone, ptr = kernels.rows_of_words(TOKENS, OFFSETS, 6, 1, 1)
    assert (alone.tolist(), ptr.tolist()) == ([5, 3, 4], [0, 3, 3])


def test_a_run_has_one_row_wherever_it_stands():
    tokens = np.array([2, 3, 4, 2, 3, 2], np.int32)
    ids, _ = kernels.rows_of_words(tokens, np.array([0, 6]), 5, 2, 1_000_000)
    runs = ids[1::2]
    assert runs[0] == runs[3]
    assert len({*runs.tolist()}) == 4  # 2 3, 3 4, 4 2, 3 2


def test_rows_of_characters_come_behind_those_of_words():
    ids, ptr = np.array([2, 3], np.int32), np.array([0, 1, 2])
    more, offsets = np.array([2, 1, 4], np.int32), np.array([0, 2, 3])
    out, ends = kernels.joined_rows(ids, ptr, more, offsets, 100)
    assert (out.tolist(), ends.tolist()) == ([2, 102, 3, 104], [0, 2, 4])


def test_a_mean():
    inputs = np.arange(12, dtype=np.float32).reshape(4, 3)
    found = kernels.means(np.array([0, 2], np.int32), np.array([0, 2, 2]), inputs)
    assert found.tolist() == [[3, 4, 5], [0, 0, 0]]


START = (np.uint64(7),)
CLIP = 0.1  # shorter than the gradients here


def learned(kernel, *more, y=(1,), state=()):
    """One step of a text of two words at rate 0.5, and what was before it."""
    random = np.random.default_rng(0)
    inputs = random.random((4, 3), np.float32)
    outputs = random.random((2, 3), np.float32)
    before = inputs.copy(), outputs.copy()
    ids, ptr = np.array([2, 3], np.int32), np.array([0, 2])
    own = np.array(y, np.int32)
    args = (np.array([0]), ids, ptr, np.array([0, len(own)]), own, inputs, outputs, *more)
    kernel(*args, 0.5, 0, 1, *state)
    return before, (inputs, outputs)


def expected(before, errors, rate=0.5):
    """One step of plain stochastic gradient descent on given errors of the outputs."""
    inputs, outputs = before
    hidden = inputs[[2, 3]].mean(axis=0)
    gradient = rate * errors @ outputs
    gradient *= min(1, rate * CLIP / np.linalg.norm(gradient))
    moved = inputs.copy()
    moved[[2, 3]] += gradient / 2
    return moved, outputs + rate * np.outer(errors, hidden)


def test_one_vs_all_is_a_step_of_logistic_regression():
    bias = np.array([0.3, -0.2], np.float32)
    before, after = learned(kernels.one_vs_all, bias, sigmoids(), 0.0, CLIP)
    hidden = before[0][[2, 3]].mean(axis=0)
    p = 1 / (1 + np.exp(-(before[1] @ hidden + bias)))
    for found, wanted in zip(after, expected(before, np.array([0, 1]) - p), strict=True):
        assert np.allclose(found, wanted, atol=2e-3)  # sigmoids come from a table


def test_improbable_negatives_are_quiet():
    bias = np.array([0.3, -9.0], np.float32)
    before, after = learned(kernels.one_vs_all, bias, sigmoids(), 0.1, 4.0, y=(0,))
    assert np.array_equal(before[1][1], after[1][1])
    assert (before[1][0] < after[1][0]).all()


def test_softmax_learns_one_label_against_the_others():
    before, after = learned(kernels.softmax, CLIP, state=START)
    odds = before[1] @ before[0][[2, 3]].mean(axis=0)
    p = np.exp(odds) / np.exp(odds).sum()
    for found, wanted in zip(after, expected(before, np.array([0, 1]) - p), strict=True):
        assert np.allclose(found, wanted, atol=1e-6)


def test_a_label_of_several_is_drawn():
    drawn = set()
    for state in range(1, 30):
        start = np.uint64(state * 0x9E3779B97F4A7C15 % 2**64)
        before, after = learned(kernels.softmax, CLIP, y=(0, 1), state=(start,))
        drawn.add(bool((after[1][0] > before[1][0]).any()))
    assert drawn == {True, False}


def test_a_huffman_tree_joins_rare_labels_first():
    children = kernels.huffman(np.array([5, 1, 10, 2]))
    # 1 and 2 make 3, with 5 they make 8, with 10 the root
    assert children.tolist() == [[1, 3], [4, 0], [5, 2]]
    parents, right = kernels.way_up(children)
    assert parents.tolist() == [5, 4, 6, 4, 5, 6, -1]
    assert right.tolist() == [True, False, True, True, False, False, False]


def test_hierarchical_learns_the_turns_of_the_way_up():
    children = kernels.huffman(np.array([1, 2, 4]))  # labels 0 and 1 meet below the root
    before, after = learned(
        kernels.hierarchical, *kernels.way_up(children), CLIP, y=(1,), state=START
    )
    hidden = before[0][[2, 3]].mean(axis=0)
    p = 1 / (1 + np.exp(-(before[1] @ hidden)))
    right = np.array([1, 0])  # label 1 is the second below node 0, which is the first of the root
    for found, wanted in zip(after, expected(before, right - p), strict=True):
        assert np.allclose(found, wanted, atol=1e-6)


def test_labels_of_a_tree_come_by_their_probabilities():
    random = np.random.default_rng(1)
    counts = random.integers(0, 50, 20)
    children = kernels.huffman(counts)
    outputs = random.normal(size=(19, 4)).astype(np.float32)
    hidden = random.normal(size=(3, 4)).astype(np.float32)
    labels, scores = kernels.descend(hidden, outputs, children, 20)
    parents, right = kernels.way_up(children)
    for d in range(3):
        p = np.ones(20)
        for label in range(20):
            node = label
            while parents[node] >= 0:
                turn = outputs[parents[node] - 20] @ hidden[d] * (1 if right[node] else -1)
                p[label] *= 1 / (1 + np.exp(-turn))
                node = parents[node]
        assert p.sum() == pytest.approx(1, abs=1e-5)
        assert labels[d].tolist() == np.argsort(-p).tolist()
        assert np.allclose(scores[d], np.sort(p)[::-1], atol=1e-5)
