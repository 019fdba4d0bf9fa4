import io

from labelgrove.core.progress import Lines
from labelgrove.corpus import Corpus, read_corpus, statistics

TRAIN = Corpus.from_lists(
    ["a b c", "a b c", "d", "", "a-e"], [["x", "y"], ["x"], ["x", "z"], [], ["y"]]
)
TEST = Corpus.from_lists(["a b c", "f g"], [["x", "new"], []])


def test_by_hand():
    found = statistics(TRAIN, TEST)
    assert found.n_train == 5
    assert found.n_test == 2
    assert found.n_features == 5  # a b c d a-e
    assert found.n_labels == 4
    assert found.labels_only_in_test == 1
    assert found.labels_per_document == 6 / 5
    assert found.documents_per_label == 6 / 3
    assert found.words_per_train_document == 8 / 5
    assert found.words_per_test_document == 5 / 2
    assert found.unlabelled_train == found.unlabelled_test == 1
    assert found.copies_train == 1
    assert found.copies_test == 1
    assert found.counts.tolist() == [3, 2, 1]
    assert found.curve() == [(1, 3, 1.0), (3, 1, 1 / 3)]


def test_without_test_set_and_with_own_words():
    found = statistics(TRAIN, words=lambda text: text.replace("-", " ").split())
    assert found.n_features == 5  # a b c d e
    assert found.words_per_train_document == 9 / 5
    assert found.n_test is found.words_per_test_document is found.labels_only_in_test is None
    assert found.n_labels == 3
    assert not any("test" in meaning for _, meaning, _ in found.rows())


def test_without_labels():
    found = statistics(Corpus.from_lists(["a"]))
    assert (found.n_labels, found.documents_per_label, found.curve()) == (0, 0.0, [])
    assert "training documents" in str(found)


def test_given_features(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("2 100 9\n0,8 4:0.5 99:1\n 4:2\n")
    found = statistics(read_corpus(path))
    assert (found.n_features, found.words_per_train_document) == (2, 1.5)


def test_curve_of_many_labels():
    corpus = Corpus.from_lists(["x"] * 40, [[str(n) for n in range(i + 1)] for i in range(40)])
    assert statistics(corpus).curve() == [
        (1, 40, 1.0),
        (3, 38, 38 / 40),
        (10, 31, 31 / 40),
        (30, 11, 11 / 40),
        (40, 1, 1 / 40),
    ]


def test_table_and_progress():
    shown = io.StringIO()
    text = str(statistics(TRAIN, TEST, progress=Lines(shown)))
    lines = text.splitlines()
    assert "N_train  training documents                                       5" in lines
    assert "L̂        training documents per label                          2.00" in lines
    assert lines[-1].split() == ["3", "1", "33.3%"]
    assert "reading the list of texts: 5 documents" in shown.getvalue()


def test_real_data(shared):
    train, test = (read_corpus(shared / "reuters" / f"{p}.jsonl.xz") for p in ("train", "test"))
    found = statistics(train, test)
    assert (found.n_train, found.n_test, found.n_labels) == (7775, 3019, 118)
    assert round(found.labels_per_document, 1) == 1.2
