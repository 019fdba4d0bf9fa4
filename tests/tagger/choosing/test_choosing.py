"""Which documents to label next: what a strategy wants, spreads, leaves out and repeats."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove import Tagger, read_corpus
from labelgrove.core.errors import InputError
from labelgrove.core.progress import Silent
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.core.storage import write_text
from labelgrove.core.types import Document
from labelgrove.corpus import Corpus
from labelgrove.models.contract import known_answer
from labelgrove.tagger.choosing import STRATEGIES, NextDocument, as_table, choose_documents
from labelgrove.tagger.choosing.criteria import label_profiles, rarity, uncertainty
from labelgrove.tagger.choosing.pool import draw_sample
from labelgrove.tagger.choosing.spread import best_rows, spread_rows, unit_rows
from labelgrove.text.copies import distinct_hashes, text_hash


def sampled(corpus, size, known=(), seed=0):
    hashes = distinct_hashes(map(text_hash, known))
    return draw_sample(corpus, size, known=hashes, seed=seed, progress=Silent())


class Made(Corpus):
    """Documents that are made while they are read."""

    name = "made"

    def __init__(self, n, length=20):
        self.n, self.length = n, length

    def __iter__(self):
        for i in range(self.n):
            yield Document(f"document {i} ".ljust(self.length, "x"))


@pytest.fixture(scope="module")
def tagger():
    texts, labels = known_answer(300)
    return Tagger("bonsai", threads=1).fit(texts, labels)


# --- criteria ---------------------------------------------------------------------------------


def test_uncertainty_is_of_as_many_labels_as_are_expected():
    ranking = Ranking(
        np.array([[0, 1, 2, 3], [0, 1, 2, 3], [0, -1, -1, -1], [-1, -1, -1, -1]]),
        np.array([[0.9, 0.8, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1], [1, 0, 0, 0], [0, 0, 0, 0]]),
    )
    assert uncertainty(ranking) == pytest.approx([0.15, 0.6, 0.0, 1.0])
    assert uncertainty(Ranking.empty(2, 0)).tolist() == [1.0, 1.0]


def test_rare_labels_count_by_how_many_documents_they_have():
    ranking = Ranking(np.array([[0, 1], [1, -1]]), np.array([[0.8, 0.4], [0.9, 0.0]]))
    counts = np.array([3, 8])
    assert rarity(ranking, counts) == pytest.approx([0.8 / 4 + 0.4 / 9, 0.1])
    profiles = label_profiles(ranking, counts).toarray()
    assert profiles == pytest.approx(np.array([[0.4, 0.4 / 3], [0.0, 0.3]]))


# --- spreading --------------------------------------------------------------------------------


def test_one_document_of_each_group_before_a_second_of_any():
    groups = np.repeat(np.eye(4), [50, 30, 3, 1], axis=0)  # 84 rows in four directions
    X = csr_array(groups)
    copies = csr_array(np.eye(84))  # no two texts are alike
    for seed in range(20):
        rows = spread_rows(X, copies, np.ones(84), 4, generator(seed, "test"))
        assert sorted(groups[rows].argmax(axis=1)) == [0, 1, 2, 3]
    more = spread_rows(X, copies, np.arange(84.0), 7, generator(0, "test"))
    others = [row for row in reversed(range(84)) if row not in more[:4]]
    assert more[4:] == others[:3]  # the heaviest


def test_weights_decide_among_what_is_equally_far():
    X = csr_array(np.eye(3))
    rows = [spread_rows(X, X, np.array([0.0, 1, 9]), 1, generator(s, "t"))[0] for s in range(200)]
    drawn = Counter(rows)
    assert 0 not in drawn
    assert 5 <= drawn[1] <= 45  # a tenth of 200, and five standard deviations


def test_copies_are_chosen_once():
    X = unit_rows(csr_array(np.array([[5.0, 0.1], [4.0, 0.0], [0.0, 2.0], [0.0, 0.0]])))
    assert best_rows(X, np.array([1.0, 4, 3, 2]), 4) == [1, 2, 3]
    rows = spread_rows(X, X, np.ones(4), 4, generator(0, "test"))
    assert sorted(rows) in ([0, 2, 3], [1, 2, 3])


# --- the sample of the pool -------------------------------------------------------------------


def test_the_sample_does_not_depend_on_the_order_of_the_pool():
    texts = [f"document {i}" for i in range(500)]
    one = sampled(Corpus.from_lists(texts), 50)
    other = sampled(Corpus.from_lists(texts[::-1]), 50)
    assert [d.text for d in one.documents] == [d.text for d in other.documents]
    assert len(one.documents) == 50
    assert one.read == 500
    assert {d.text for d in sampled(Corpus.from_lists(texts), 50, seed=1).documents} != {
        d.text for d in one.documents
    }


def test_documents_without_an_id_have_the_number_of_their_row():
    found = sampled(Corpus.from_lists(["b", "", "a"], ids=None), 9)
    assert sorted((d.text, d.id) for d in found.documents) == [("a", "3"), ("b", "1")]
    assert found.empty == 1
    named = sampled(Corpus.from_lists(["b", "a"], ids=["x", "y"]), 9)
    assert sorted((d.text, d.id) for d in named.documents) == [("a", "y"), ("b", "x")]


def test_known_texts_and_copies_are_left_out():
    pool = Corpus.from_lists(["a", "b", "a", " \n", "c", "B ", "C"])
    found = sampled(pool, 9, ["c", "d"])
    assert sorted(d.text for d in found.documents) == ["a", "b"]
    assert (found.read, found.known, found.empty) == (7, 2, 1)


def test_a_large_pool_takes_the_memory_of_the_sample():
    tracemalloc.start()
    found = sampled(Made(20_000, 2000), 100)  # 40 MB of texts
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.documents) == 100
    assert peak < 2e6


def test_long_documents_make_the_sample_smaller(monkeypatch):
    monkeypatch.setattr("labelgrove.tagger.choosing.pool.CHARACTERS", 1000)
    found = sampled(Made(200, 100), 50)
    assert len(found.documents) == 10
    assert [d.text for d in found.documents] == [
        d.text for d in sampled(Made(200, 100), 10).documents
    ]


# --- batches ----------------------------------------------------------------------------------


def test_every_strategy_chooses_the_same_again(tagger):
    texts = known_answer(150, seed=1)[0]
    for by in STRATEGIES:
        once, again = (choose_documents(tagger, texts, 20, by=by) for _ in range(2))
        assert once == again
        assert len({each.document.text for each in once}) == 20
        assert once.by == by
        assert all(0 < len(each.tags) <= 10 for each in once)
    assert choose_documents(tagger, texts, 20).by == "labels"
    assert choose_documents(tagger, texts, 20) != choose_documents(tagger, texts, 20, seed=1)


def test_uncertain_documents_are_those_that_say_nothing_known(tagger):
    clear = [f"topic{i}a topic{i}b topic{i}c" for i in range(4)]
    batch = choose_documents(tagger, [*clear, "foreign words alone"], 1, by="uncertainty", k=2)
    (chosen,) = batch
    assert chosen.document == Document("foreign words alone", (), "5")
    assert len(chosen.tags) == 2
    assert chosen.score > 0.3


def test_rare_labels_come_first(tagger):
    counts = tagger.labels_.counts
    rare, often = int(np.argmin(counts)), int(np.argmax(counts))
    words = {
        i: " ".join(f"topic{int(tagger.labels_.ids[i].split()[1])}{c}" for c in "abc")
        for i in (rare, often)
    }
    pool = [*(f"{words[often]} noise{i}" for i in range(9)), words[rare]]
    (chosen,) = choose_documents(tagger, pool, 1, by="rare")
    assert chosen.document.text == words[rare]


def test_batches_have_more_labels_than_random_ones(tagger):
    texts, labels = known_answer(1500, seed=2)
    by_text = dict(zip(texts, labels, strict=True))
    sizes = {}
    for by in ("labels", "random"):
        batches = [choose_documents(tagger, texts, 12, by=by, seed=seed) for seed in range(5)]
        sizes[by] = [
            len({label for each in batch for label in by_text[each.document.text]})
            for batch in batches
        ]
    assert np.mean(sizes["labels"]) > np.mean(sizes["random"]) + 2


def test_news_of_rare_subjects_are_found(shared):
    documents = list(read_corpus(shared / "reuters" / "train.jsonl.xz"))
    order = generator(0, "test of next").permutation(len(documents))
    first, pool = ([documents[i] for i in some] for some in (order[:200], order[200:3200]))
    learned = Tagger("bonsai", threads=1).fit([d.text for d in first], [d.labels for d in first])
    known = {label for document in first for label in document.labels}
    truth = {document.text: set(document.labels) for document in pool}
    found = {}
    for by in ("labels", "random"):
        batch = choose_documents(learned, [d.text for d in pool], 100, by=by)
        found[by] = set().union(*(truth[each.document.text] for each in batch)) - known
    assert len(found["labels"]) > len(found["random"])


def test_without_a_tagger_a_diverse_batch(tagger):
    random = generator(0, "fruit")
    words = [f"fruit{i}" for i in range(12)]
    alike = [" ".join(random.permutation(words)[:8]) for _ in range(190)]
    others = {f"turbine{i} rotor{i} blade{i}" for i in range(10)}
    found = []
    for seed in range(10):
        batch = choose_documents(None, [*alike, *others], 10, seed=seed)
        found.append(sum(each.document.text in others for each in batch))
    assert np.mean(found) > 3  # of ten random ones 0.5
    assert batch.by == "diversity"
    assert all(each.tags == () and each.score == 0 for each in batch)


def test_a_pool_smaller_than_the_batch_is_taken_whole(tagger):
    for by in STRATEGIES:
        batch = choose_documents(tagger, ["topic1a", "topic2a noise", "topic2a noise"], 9, by=by)
        assert len(batch) == 2
    assert len(choose_documents(tagger, ["topic1a"], 9, known=["topic1a"])) == 0


@pytest.mark.parametrize("by", ["labels", "mixed", "uncertainty", "rare"])
def test_what_needs_a_tagger_is_refused_without(by):
    with pytest.raises(InputError, match=f"'{by}' needs a tagger that has learned"):
        choose_documents(None, ["a text"], by=by)


def test_what_it_has_learned_is_not_chosen(tagger):
    texts = known_answer(300)[0]  # those of the training
    batch = choose_documents(tagger, [*texts, "topic1a topic3b"], 50, known=["foreign"])
    assert [each.document.text for each in batch] == ["topic1a topic3b"]
    assert batch.sample.known == 300


def test_bad_arguments_are_told(tagger):
    with pytest.raises(InputError, match="way to choose documents 'best'"):
        choose_documents(tagger, ["a text"], by="best")
    with pytest.raises(InputError, match="documents to choose must be at least 1, got 0"):
        choose_documents(tagger, ["a text"], 0)
    with pytest.raises(InputError, match="proposed labels must be at least 1, got 0"):
        choose_documents(tagger, ["a text"], k=0)


def test_a_table_can_be_read_whatever_line_ends_texts_have(tmp_path):
    texts = ["one\rtwo", "three\r\nfour", "five\nsix"]
    chosen = [NextDocument(Document(text, (), str(i)), (), 0.0) for i, text in enumerate(texts)]
    write_text(tmp_path / "queue.csv", as_table(chosen))
    assert [d.text for d in read_corpus(tmp_path / "queue.csv")] == texts
