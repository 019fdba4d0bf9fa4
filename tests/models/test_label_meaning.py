"""Labels whose names mean what the text means."""

import numpy as np
import pytest
from model2vec import StaticModel
from scipy.sparse import csr_array
from tokenizers import Tokenizer, models, pre_tokenizers

from grove_corpora import Said
from labelgrove import LabelSpace, Run, Tagger
from labelgrove.core.errors import InputError
from labelgrove.core.types import FitContext
from labelgrove.labels import Concept, Vocabulary
from labelgrove.models.grove import Grove
from labelgrove.models.label_meaning import LabelMeaning
from labelgrove.text import StaticEmbeddings

# words of one animal are alike, and "pet" is a bit of both
WORDS = {
    "[UNK]": [0, 0, 0],
    "cat": [1, 0, 0],
    "kitten": [1, 0.1, 0],
    "dog": [0, 1, 0],
    "puppy": [0.1, 1, 0],
    "whale": [0, 0, 1],
    "orca": [0, 0.1, 1],
    "pet": [0.7, 0.7, 0],
}
VOCABULARY = Vocabulary(
    {"a1": Concept("cat"), "a2": Concept("dog", alternatives=("hound", "puppy")),
     "a3": Concept("whale"), "a4": Concept("zebra"), "1234": Concept("1234")}
)  # fmt: skip


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    """Vectors of the words above."""
    folder = tmp_path_factory.mktemp("vectors") / "static"
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    vectors = np.array([*WORDS.values()], np.float32)
    StaticModel(vectors, tokenizer).save_pretrained(folder)
    return f"static:{folder}"


def fitted(dense, texts=(), labels=(), vocabulary=VOCABULARY, **settings):
    model = LabelMeaning(dense=dense, **settings)
    return Tagger(model, validation=0).fit([*texts], [*labels], vocabulary=vocabulary)


def labels_of(tagger, text):
    return [tag.label for tag in tagger.tag(text, k=5)]


def test_without_any_document_names_are_found_by_their_meaning(dense):
    tagger = fitted(dense)
    assert labels_of(tagger, "kitten")[0] == "a1"
    assert labels_of(tagger, "orca orca")[0] == "a3"
    assert tagger.tag("cat", k=1)[0].score == pytest.approx(1 / (1 + np.exp(-5)), abs=1e-4)
    assert tagger.tag(["", "unknown words"], k=5) == [[], []]


def test_a_label_is_as_near_as_the_nearest_of_its_names(dense):
    puppy = fitted(dense).tag("puppy", k=5)
    assert [tag.label for tag in puppy].count("a2") == 1
    assert puppy[0].label == "a2"
    assert puppy[0].score == pytest.approx(1 / (1 + np.exp(-5)), abs=1e-4)
    assert puppy[0].score > fitted(dense).tag("pet", k=1)[0].score


def test_numbers_are_no_names_and_unknown_names_are_never_found(dense):
    tagger = fitted(dense)
    assert tagger.labels_.n_labels == 5
    assert np.unique(tagger.model_.owners_).tolist() == [1, 2, 3]  # not 1234, nor the zebra
    assert tagger.rank(["cat dog whale pet"], 5).labels[0].tolist()[3:] == [-1, -1]


def test_an_id_that_is_a_word_is_a_name(dense):
    tagger = fitted(dense, ["kitten", "orca"], [["cat"], ["whale"]], vocabulary=None)
    assert labels_of(tagger, "kitten")[0] == "cat"


def test_documents_move_texts_towards_the_names_of_their_labels(dense):
    # here who writes of pets writes of dogs, and who writes of cats writes of whales
    texts, labels = ["pet", "cat", "kitten"] * 60, [["a2"], ["a3"], ["a3"]] * 60
    learned = fitted(dense, texts, labels)
    assert labels_of(fitted(dense), "cat")[0] == "a1"
    assert labels_of(learned, "cat")[0] == "a3"
    assert labels_of(learned, "kitten kitten cat")[0] == "a3"
    cautious = fitted(dense, texts, labels, caution=1e6)
    assert np.allclose(cautious.model_.map_, np.eye(3), atol=1e-3)


def test_scores_are_the_share_that_is_right(dense):
    random = np.random.default_rng(0)
    texts = ["cat kitten"] * 400
    labels = [["a1"] if right else ["a3"] for right in random.random(400) < 0.7]
    (first, *others) = fitted(dense, texts, labels, caution=1e6).tag("cat kitten", k=5)
    assert first.label == "a1"
    assert first.score == pytest.approx(0.7, abs=0.05)
    assert all(0 <= tag.score <= first.score for tag in others)


def test_save_load_and_explain(dense, tmp_path):
    tagger = fitted(dense, ["kitten", "orca"], [["a1"], ["a3"]])
    tagger.save(tmp_path / "t")
    loaded = Tagger.load(tmp_path / "t")
    texts = ["cat", "orca", "", "pet"]
    assert loaded.tag(texts, k=5) == tagger.tag(texts, k=5)
    told = loaded.explain("cat", "a1")
    assert list(told) == []
    assert told.parts == (("meaning of the name", pytest.approx(tagger.tag("cat")[0].score)),)
    assert loaded.explain("cat", "zebra").parts == (("meaning of the name", 0.0),)


def test_many_texts_are_ranked_in_batches(dense, monkeypatch):
    tagger, texts = fitted(dense), ["cat", "orca", "", "pet", "puppy"]
    whole = tagger.rank(texts, 3)
    monkeypatch.setattr("labelgrove.models.label_meaning.BATCH", 2)
    assert np.array_equal(tagger.rank(texts, 3).scores, whole.scores)


def test_names_that_the_vectors_do_not_know_are_told(dense):
    unknown = Vocabulary({"f1": Concept("kissa"), "f2": Concept("koira")})
    with pytest.raises(InputError, match=r"no label has a name that the vectors of static:.*'kiss"):
        fitted(dense, vocabulary=unknown)
    with pytest.raises(InputError, match="no label has a name"):  # not a single name
        fitted(dense, vocabulary=Vocabulary({"1": Concept("1")}))


@pytest.mark.parametrize("n", [0, 8, 60])
def test_a_grove_goes_on_without_it_and_says_so(dense, n):
    unknown = Vocabulary({"f1": Concept("kissa"), "f2": Concept("koira")})
    texts, labels = ["kissa nukkuu", "koira nukkuu"] * (n // 2), [["f1"], ["f2"]] * (n // 2)
    said = Said()
    tagger = Tagger(Grove(dense=dense, threads=1), validation=0)
    tagger.fit(texts, labels, vocabulary=unknown, run=Run(progress=said))
    assert any(line.startswith("without names-by-meaning: no label has") for line in said.lines)
    assert tagger.tag("minun kissa", k=1)[0].label == "f1"


def test_what_it_needs_is_told(dense):
    featurizer = StaticEmbeddings(model=dense.removeprefix("static:")).fit([])
    X, Y, space = featurizer.transform(["cat"]), csr_array([[1.0]]), LabelSpace(["cat"], [1], 1)
    for context in (
        None,
        FitContext(labels=space),
        FitContext(featurizers={"text": featurizer}),
    ):
        with pytest.raises(InputError, match="finds labels by their names: fit it through Tagger"):
            LabelMeaning(dense=dense).fit(X, Y, context=context)
    with pytest.raises(InputError, match=r"reads dense vectors: .* not csr_array"):
        LabelMeaning(dense=dense).fit(csr_array(X), Y)
    context = FitContext(labels=space, featurizers={"text": featurizer})
    model = LabelMeaning(dense=dense).fit(X, Y, context=context)
    with pytest.raises(InputError, match="X has 2 columns, but label-meaning learned with 3"):
        model.rank(X[:, :2])
    with pytest.raises(InputError, match="dense='' names no model"):
        Tagger(LabelMeaning()).fit(["cat"], [["cat"]])
    with pytest.raises(InputError, match="caution must be a number above 0, got 0"):
        LabelMeaning(dense=dense, caution=0).check_settings()
