import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.corpus import Corpus, iterative_stratification, read_corpus, split
from labelgrove.corpus.kernels import assign_folds
from labelgrove.corpus.splits import label_matrix, random_rows


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "docs.jsonl"
    rows = [
        {"text": f"text {i % 900}", "labels": [f"l{i % 7}", f"m{i % 50}"], "id": i}
        for i in range(1000)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return read_corpus(path)


@pytest.mark.parametrize("by", ["text", "id", "random", "labels"])
def test_two_parts_make_the_whole(corpus, by):
    large, small = split(corpus, 0.2, by=by)
    assert list(small) == list(small)
    assert sorted([*large, *small]) == sorted(corpus)
    assert 150 < sum(1 for _ in small) < 250
    again = split(corpus, 0.2, by=by)[1]
    other = split(corpus, 0.2, by=by, seed=1)[1]
    assert list(again) == list(small) != list(other)
    order = [int(document.id) for document in large]
    assert order == sorted(order)


def test_copies_stay_together(corpus):
    large, small = split(corpus, 0.5, by="text")
    assert not set(large.texts()) & set(small.texts())


def test_a_document_keeps_its_side(corpus):
    some = corpus.where(lambda document: int(document.id) % 2 == 0)
    small = {document.id for document in split(corpus, 0.3, by="id")[1]}
    assert {document.id for document in split(some, 0.3, by="id")[1]} == {
        number for number in small if int(number) % 2 == 0
    }


def test_random_share_is_exact(corpus):
    assert sum(1 for _ in split(corpus, 0.123, by="random")[1]) == 123
    assert random_rows(3, 0.01).sum() == 1
    assert random_rows(3, 0.99).sum() == 2


def test_wrong_splits(corpus):
    for fraction in (0, 1, -0.1, float("nan")):
        with pytest.raises(InputError, match="between 0 and 1"):
            split(corpus, fraction)
    with pytest.raises(UnknownNameError, match="known: text, id, random, labels"):
        split(corpus, by="hash")
    with pytest.raises(InputError, match="without id; split it by 'text'"):
        list(split(Corpus.from_lists(["a"]), by="id")[0])
    with pytest.raises(InputError, match="at least 2"):
        split(Corpus.from_lists(["a"]), by="random")
    with pytest.raises(InputError, match="two or more numbers above 0"):
        iterative_stratification(csr_array([[1]]), [1.0, 0.0])


def test_part_of_a_file_that_changed(tmp_path):
    path = tmp_path / "docs.jsonl"
    row = '{"text": "a", "labels": []}\n'
    path.write_text(row * 4)
    large, _ = split(read_corpus(path), 0.5, by="random")
    path.write_text(row * 5)
    with pytest.raises(InputError, match="has more than the 4 it was divided by"):
        list(large)
    path.write_text(row * 3)
    with pytest.raises(InputError, match="has 3 documents instead of the 4 it was divided by"):
        list(large)


def test_parts_know_what_was_skipped(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text('{"text": "a", "labels": []}\nbad\n{"text": "b", "labels": []}\n')
    large, small = split(read_corpus(path, on_bad="skip"), 0.5, by="random")
    assert sorted([*large.texts(), *small.texts()]) == ["a", "b"]
    assert large.skipped == small.skipped == 1


def test_label_matrix():
    Y = label_matrix([("b", "a"), (), ("a",)])
    assert Y.toarray().tolist() == [[1, 1], [0, 0], [0, 1]]
    assert label_matrix([()]).shape == (1, 0)


def test_stratification_by_hand():
    # the rare second label is divided first, which leaves two documents of the first alone
    Y = csr_array([[1, 1], [1, 1], [1, 0], [1, 0], [1, 0], [1, 0], [0, 0], [0, 0]])
    for seed in range(20):
        small = iterative_stratification(Y, [3, 1], seed) == 1
        # 0.5 of label 1 and 1.5 of label 0 are wanted, 2 of all documents
        assert small[:2].sum() <= 1
        assert 1 <= small[:6].sum() <= 2
        assert small.sum() == 2


def test_stratification_keeps_single_documents_in_the_large_part():
    Y = csr_array(np.eye(50))
    folds = iterative_stratification(Y, [0.9, 0.1])
    assert (folds == 0).all()


def test_stratification_beats_chance():
    Y = random_array((4000, 300), density=0.01, format="csr", random_state=np.random.default_rng(0))
    total = (Y > 0).sum(axis=0)

    def error(small):
        return np.abs((Y[small] > 0).sum(axis=0) - 0.2 * total).mean()

    stratified = iterative_stratification(csr_array(Y), [0.8, 0.2]) == 1
    assert error(stratified) < 0.5 * error(random_rows(4000, 0.2))
    assert abs(stratified.sum() - 800) < 10


def plain_folds(Y, wanted, room, ties):
    """Word for word from the paper, with the lowest label first among equally rare ones."""
    rows = [set(np.flatnonzero(row)) for row in Y]
    left = set(range(len(rows)))
    folds = np.full(len(rows), -1)

    def give(document, needs):
        best = [f for f in range(len(room)) if needs[f] >= max(needs) - 1e-9]
        most = max(room[f] for f in best)
        best = [f for f in best if room[f] >= most - 1e-9]
        fold = best[int(ties[document] * len(best))]
        folds[document] = fold
        left.discard(document)
        room[fold] -= 1
        for label in rows[document]:
            wanted[fold, label] -= 1

    while any(rows[document] for document in left):
        counts = {}
        for document in left:
            for label in rows[document]:
                counts[label] = counts.get(label, 0) + 1
        rarest = min(counts, key=lambda label: (counts[label], label))
        for document in sorted(left):
            if rarest in rows[document]:
                give(document, wanted[:, rarest])
    for document in sorted(left):
        give(document, room)
    return folds


@given(
    rows=st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=20),
    shares=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    seed=st.integers(0, 100),
)
def test_kernel_equals_plain_python(rows, shares, seed):
    Y = np.zeros((len(rows), 6))
    for i, labels in enumerate(rows):
        Y[i, list(labels)] = 1
    parts = np.array(shares) / sum(shares)
    wanted = np.outer(parts, Y.sum(axis=0))
    ties = np.random.default_rng(seed).random(len(rows))
    expected = plain_folds(Y, wanted.copy(), parts * len(rows), ties)
    byrow, bycolumn = csr_array(Y), csr_array(Y).tocsc()
    found = assign_folds(
        byrow.indptr.astype(np.int64),
        byrow.indices.astype(np.int32),
        bycolumn.indptr.astype(np.int64),
        bycolumn.indices.astype(np.int32),
        wanted,
        parts * len(rows),
        ties,
    )
    assert found.tolist() == expected.tolist()
