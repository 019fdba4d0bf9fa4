"""Documents found again: exactly, by a graph, saved, and with more of them."""

import subprocess
import sys

import faiss
import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core import storage
from labelgrove.core.errors import DamagedError, InputError
from labelgrove.models.neighbours import Memory, Nearest, memory
from labelgrove.models.neighbours.memory import unit_rows


def labels(n, width=3):
    return csr_array((np.ones(n, np.float32), (np.arange(n), np.arange(n) % width)), (n, width))


def dense(n, d=8, seed=0):
    return unit_rows(np.random.default_rng(seed).normal(size=(n, d)))


def sparse(n, d=30, seed=0):
    random = np.random.default_rng(seed)
    return unit_rows(csr_array(random.random((n, d)) * (random.random((n, d)) < 0.2)))


KINDS = pytest.mark.parametrize("make", [dense, sparse])


def same(one, other):
    assert np.array_equal(one.documents, other.documents)
    assert np.array_equal(one.similarities, other.similarities)


def test_cosines_by_hand():
    found = Memory(unit_rows(np.array([[1, 0], [4, 3], [0, 2], [0, 0]])), labels(4))
    nearest = found.nearest(unit_rows(np.array([[2, 0], [-1, 0], [0, 0]])), 3)
    assert nearest.documents.tolist() == [[0, 1, -1], [-1, -1, -1], [-1, -1, -1]]
    assert np.allclose(nearest.similarities, [[1, 0.8, 0], [0, 0, 0], [0, 0, 0]])


@KINDS
def test_no_document_is_its_own_neighbour(make):
    vectors = make(200)
    kept = Memory(vectors, labels(200))
    assert (kept.nearest(vectors, 1).documents[:, 0] == np.arange(200)).all()  # else it would be
    found = kept.nearest(vectors, 10, own=np.arange(200))
    assert not (found.documents == np.arange(200)[:, None]).any()
    assert (found.documents >= 0).any(axis=1).all()


@KINDS
@pytest.mark.parametrize("copied", [1, 7, 300])
def test_near_copies_are_no_neighbours(make, copied):
    """Document 0 has many copies, some of them not quite equal: none sees another."""
    others = make(60)
    first = others[[0]] if make is sparse else others[:1]
    random = np.random.default_rng(1)
    if make is sparse:
        near = np.repeat(first.toarray(), copied, axis=0)
        near += 0.02 * random.random(near.shape) * (near > 0)
        vectors = unit_rows(csr_array(np.concatenate([others.toarray(), near])))
    else:
        near = np.repeat(first, copied, axis=0) + 0.01 * random.normal(size=(copied, 8))
        vectors = unit_rows(np.concatenate([others, near]))
    n = vectors.shape[0]
    cosines = vectors @ vectors.T
    cosines = np.asarray(cosines.todense() if make is sparse else cosines)
    twins = cosines > 0.95
    assert twins[0, 60:].all()
    found = Memory(vectors, labels(n)).nearest(vectors, 5, own=np.arange(n), copies=0.95)
    rows, places = np.nonzero(found.documents >= 0)
    assert not twins[rows, found.documents[rows, places]].any()
    # and all others are found, as many as there are
    many = np.minimum(((cosines > 0) & ~twins).sum(axis=1), 5)
    assert ((found.documents >= 0).sum(axis=1) == many).all()
    best = np.where(twins, 0, cosines).max(axis=1)
    assert np.allclose(found.similarities[:, 0], np.maximum(best, 0), atol=1e-6)


@KINDS
def test_copies_stay_for_texts_that_are_not_among_the_documents(make):
    vectors = make(50)
    kept = Memory(vectors, labels(50))
    found = kept.nearest(vectors, 3, own=np.full(50, -1), copies=0.5)
    same(found, kept.nearest(vectors, 3))


@KINDS
def test_threads_and_blocks_change_nothing(make, monkeypatch):
    vectors = make(300)
    kept = Memory(vectors, labels(300))
    asked = {"own": np.arange(300), "copies": 0.9}
    one = kept.nearest(vectors, 7, threads=1, **asked)
    same(one, kept.nearest(vectors, 7, threads=2, **asked))
    monkeypatch.setattr(memory, "BLOCK", 4096)
    same(one, kept.nearest(vectors, 7, threads=1, **asked))


def test_documents_without_a_vector_are_nobodys_neighbours():
    rows = np.random.default_rng(0).random((9, 4))
    rows[[2, 5]] = 0
    for given in (unit_rows(rows), unit_rows(csr_array(rows))):
        found = Memory(given, labels(9)).nearest(given, 9, own=np.arange(9))
        assert (found.documents[[2, 5]] == -1).all()
        assert not np.isin(found.documents, [2, 5]).any()


WITHOUT = """
import sys
sys.modules["faiss"] = None
import numpy as np
from scipy.sparse import csr_array
from labelgrove.core.errors import MissingExtraError
from labelgrove.models.neighbours import Memory, memory
vectors = np.load(sys.argv[1])
memory.BLOCK = 5000
kept = Memory(vectors, csr_array((len(vectors), 1)))
found = kept.nearest(vectors, 4, own=np.arange(len(vectors)), copies=0.95)
np.savez(sys.argv[2], documents=found.documents, similarities=found.similarities)
memory.EXACT = 10
try:
    kept.nearest(vectors, 4)
except MissingExtraError as error:
    print(error)
"""


def test_without_faiss_numpy_compares_all(tmp_path):
    vectors = np.concatenate([dense(100), dense(100)[:20]])
    np.save(tmp_path / "vectors.npy", vectors)
    command = [sys.executable, "-c", WITHOUT, tmp_path / "vectors.npy", tmp_path / "found.npz"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "more than 10 documents" in done.stdout
    assert "labelgrove[neighbors]" in done.stdout
    expected = Memory(vectors, labels(120)).nearest(vectors, 4, own=np.arange(120), copies=0.95)
    same(expected, Nearest(**np.load(tmp_path / "found.npz")))


def test_the_graph_nearly_agrees_with_comparing_all(monkeypatch):
    vectors = dense(1500, 24)
    asked = {"own": np.arange(1500), "copies": 0.95, "threads": 1}
    exact = Memory(vectors, labels(1500)).nearest(vectors, 10, **asked)
    monkeypatch.setattr(memory, "EXACT", 1000)
    graph = Memory(vectors, labels(1500))
    assert not graph.is_exact
    found = graph.nearest(vectors, 10, **asked)
    hit = [np.isin(a, b).mean() for a, b in zip(exact.documents, found.documents, strict=True)]
    assert np.mean(hit) > 0.98
    assert not (found.documents == np.arange(1500)[:, None]).any()
    again = Memory(vectors, labels(1500))
    same(found, again.nearest(vectors, 10, **asked))  # built alike
    first, second = (faiss.serialize_index(each._graph) for each in (graph, again))
    assert np.array_equal(first, second)


def test_the_graph_too_finds_others_than_hundreds_of_copies(monkeypatch):
    monkeypatch.setattr(memory, "EXACT", 100)
    monkeypatch.setattr(memory, "FARTHEST", 64)
    vectors = np.concatenate([np.repeat(dense(1), 400, axis=0), dense(200, seed=2)])
    found = Memory(vectors, labels(600)).nearest(vectors, 5, own=np.arange(600), copies=0.95)
    assert (found.documents[:400] >= 400).all()
    assert np.allclose(found.similarities[:400, 0], (vectors[400:] @ vectors[0]).max())


@KINDS
@pytest.mark.parametrize("graph", [False, True])
def test_a_saved_memory_is_the_same_and_stays_on_disk(make, graph, tmp_path, monkeypatch):
    if graph:
        monkeypatch.setattr(memory, "EXACT", 50)
    vectors = make(120)
    texts = [f"Text {i} \udc80" for i in range(120)]
    kept = Memory(vectors, labels(120), texts)
    kept.write(tmp_path)
    loaded = Memory.read(tmp_path)
    asked = {"own": np.arange(120), "copies": 0.9}
    same(kept.nearest(vectors, 6, **asked), loaded.nearest(vectors, 6, **asked))
    assert (loaded.Y != kept.Y).nnz == 0
    assert list(loaded.texts) == texts
    array = loaded.vectors.data if make is sparse else loaded.vectors
    assert not array.flags.writeable
    more = loaded.with_more(vectors[:5], labels(5, 4))
    assert more.nearest(vectors[:5], 2).documents[:, 1].tolist() == list(range(120, 125))


def test_a_cut_graph_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "EXACT", 50)
    Memory(dense(80), labels(80)).write(tmp_path)
    path = tmp_path / memory.INDEX
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(DamagedError, match="save the model again"):
        Memory.read(tmp_path)


def test_a_memory_of_another_version_is_told(tmp_path):
    storage.write_values(tmp_path, {"vectors": dense(3)})
    with pytest.raises(DamagedError, match="train it again"):
        Memory.read(tmp_path)


@KINDS
@pytest.mark.parametrize("exact", [10, 1000])
def test_more_documents_are_as_if_they_had_been_there(make, exact, monkeypatch):
    monkeypatch.setattr(memory, "EXACT", exact)
    vectors = make(90)
    first = Memory(vectors[:60], labels(60), [f"t{i}" for i in range(60)])
    first.prepare()
    both = first.with_more(vectors[60:], labels(30, 5))
    same(both.nearest(vectors, 4), Memory(vectors, labels(90)).nearest(vectors, 4))
    assert both.Y.shape == (90, 5)
    assert both.Y[[60]].indices.tolist() == [0]
    assert [both.texts[59], both.texts[60]] == ["t59", ""]
    assert first.n_documents == 60
    assert first.Y.shape == (60, 3)
    assert first.nearest(vectors, 4).documents.max() < 60


def test_texts_can_begin_with_later_documents():
    both = Memory(dense(2), labels(2)).with_more(dense(1), labels(1), ["now"])
    assert list(both.texts) == ["", "", "now"]
    assert list(Memory(dense(2), labels(2)).with_more(dense(1), labels(1)).texts) == []


def test_what_does_not_fit_is_told():
    kept = Memory(dense(4), labels(4))
    with pytest.raises(InputError, match="4 vectors of documents with 3 rows"):
        Memory(dense(4), labels(3))
    with pytest.raises(InputError, match="5 texts"):
        Memory(dense(4), labels(4), ["x"] * 5)
    with pytest.raises(InputError, match=r"shape \(4, 30\) do not fit"):
        kept.nearest(sparse(4), 1)
    with pytest.raises(InputError, match=r"shape \(4, 5\) do not fit"):
        kept.with_more(dense(4, 5), labels(4))
    with pytest.raises(InputError, match="Y has 2 columns, but 3"):
        kept.with_more(dense(4), labels(4, 2))
    with pytest.raises(InputError, match="from 1, got 0"):
        kept.nearest(dense(4), 0)
