import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove import LabelSpace, Tagger
from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.types import FitContext
from labelgrove.labels import Concept, Vocabulary
from labelgrove.models import label_match
from labelgrove.models.label_match import LabelMatch, Record, same_words
from labelgrove.models.logistic import logistic
from labelgrove.models.phrases import Phrases
from labelgrove.text import Words

TOKENS = st.lists(st.integers(0, 3), min_size=1, max_size=4)


def sequences(lists):
    offsets = np.cumsum([0, *map(len, lists)])
    return TokenSequences(np.array([t for row in lists for t in row], np.int32), offsets, 10)


def longest_phrases(tokens, phrases):
    """Find phrases by trying every run: those that lie in no other run that is a phrase."""
    runs = [
        (start, stop)
        for start in range(len(tokens))
        for stop in range(start + 1, len(tokens) + 1)
        if tokens[start:stop] in phrases
    ]
    return [
        (start, stop)
        for start, stop in runs
        if not any(a <= start and stop <= b and (a, b) != (start, stop) for a, b in runs)
    ]


# --- phrases --------------------------------------------------------------------------------------


@given(st.lists(TOKENS, min_size=1, max_size=8), st.lists(TOKENS, max_size=6))
def test_phrases_are_found_as_by_trying_every_run(phrases, texts):
    trie, numbers = Phrases.of(sequences(phrases))
    assert [numbers[i] == numbers[j] for i in range(len(phrases)) for j in range(i)] == [
        phrases[i] == phrases[j] for i in range(len(phrases)) for j in range(i)
    ]
    X = sequences(texts)
    found = trie.find(X.tokens, X.offsets)
    wanted = [
        (offset + start, offset + stop, text[start:stop])
        for offset, text in zip(X.offsets.tolist(), texts, strict=False)
        for start, stop in longest_phrases(text, phrases)
    ]
    spots = zip(found.starts.tolist(), found.lengths.tolist(), strict=True)
    assert [(start, start + length) for start, length in spots] == [w[:2] for w in wanted]
    assert found.phrases.tolist() == [numbers[phrases.index(w[2])] for w in wanted]


def test_a_phrase_does_not_reach_into_the_next_text():
    trie, _ = Phrases.of(sequences([[1, 2]]))
    assert len(trie.find(np.array([1, 2]), np.array([0, 1, 2])).starts) == 0
    assert len(trie.find(np.array([1, 2]), np.array([0, 2])).starts) == 1


def test_no_phrases_are_found_nowhere():
    trie, numbers = Phrases.of(sequences([]))
    assert len(numbers) == 0
    assert len(trie.find(np.array([1, 2]), np.array([0, 2])).starts) == 0


# --- words ----------------------------------------------------------------------------------------


def test_words_differ_by_the_most_frequent_endings():
    words = ["tree", "trees", "house", "houses", "treen", "cats", "cat", "year1", "year12"]
    # s twice, n once; "cat" has too few letters, and numbers are no words
    assert same_words(words, 1).tolist() == [0, 0, 2, 2, 4, 5, 6, 7, 8]
    assert same_words(words, 2).tolist() == [0, 0, 2, 2, 0, 5, 6, 7, 8]
    assert same_words(words, 0).tolist() == list(range(9))


def test_endings_may_stand_on_endings():
    words = ["handlers", "handler", "handle", "table", "tables", "tabler"]
    assert same_words(words, 2).tolist() == [2, 2, 2, 3, 3, 3]


# --- weights --------------------------------------------------------------------------------------


def test_logistic_against_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    random = np.random.default_rng(0)
    X = np.append(random.normal(size=(300, 3)), np.ones((300, 1)), axis=1)
    y = (X @ [1.0, -2.0, 0.5, -1.0] + random.logistic(size=300) > 0).astype(float)
    peer = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-8).fit(X, y)
    assert logistic(X, y, np.zeros(4)) == pytest.approx(peer.coef_[0], abs=1e-4)


def test_logistic_without_data_keeps_what_it_starts_with():
    start = np.array([1.0, 0.0])
    assert logistic(np.empty((0, 2)), np.empty(0), start).tolist() == [1.0, 0.0]


def test_logistic_with_separable_data_stays_finite():
    X = np.array([[50.0], [-50.0]] * 20)
    weights = logistic(X, (X[:, 0] > 0).astype(float), np.array([30.0]))
    assert np.isfinite(weights).all()


def test_evidence_by_hand():
    one = [np.array([x]) for x in (7.0, 3.0, 3.0, 2.0, 4.0)]
    record = Record(*one, fresh=0.4)
    assert record.shares() == pytest.approx((3 + 3 * 0.4) / (7 + 3))
    (row,) = record.left_out(np.array([0]), np.array([1.0]))
    share = (2 + 3 * 0.4) / (6 + 3)
    odds = np.log(share / (1 - share))
    assert row == pytest.approx([odds, 1, np.log(7), 0, np.log(2), np.log(4)])
    last = Record(*(np.array([x]) for x in (1.0, 1.0, 1.0, 1.0, 1.0)), fresh=0.4)
    (row,) = last.left_out(np.array([0]), np.array([1.0]))
    assert row == pytest.approx([np.log(0.4 / 0.6), 1, 0, 1, 0, 0])  # as if never seen


# --- the model ------------------------------------------------------------------------------------

VOCABULARY = Vocabulary(
    {
        "t1": Concept("solar energy", alternatives=("photovoltaics",)),
        "t2": Concept("energy"),
        "t3": Concept("Mercury (planet)"),
        "t4": Concept("mercury (metal)"),
        "t5": Concept("wind turbines"),
        "t6": Concept("quantum gravity"),
    }
)
TEXTS = [
    "Solar energy for all",
    "Cheap energy and photovoltaics",
    "The energy of the wind",
    "Mercury, the planet",
    "Mercury in fish",
    "A wind turbine",
    "Stars, mercury and mercury",
    "Nothing at all",
]
LABELS = [["t1"], ["t1", "t2"], ["t2"], ["t3"], ["t4"], ["t5"], ["t3"], []]


@pytest.fixture(scope="module")
def tagger():
    return Tagger("label-match", validation=0).fit(TEXTS, LABELS, vocabulary=VOCABULARY)


def labels_of(tagger, text):
    return [tag.label for tag in tagger.tag(text, k=6)]


def test_names_and_other_names_are_found(tagger):
    assert labels_of(tagger, "On Solar Energy") == ["t1"]  # not t2, whose name is inside
    assert labels_of(tagger, "PHOTOVOLTAICS") == ["t1"]
    assert set(labels_of(tagger, "solar energy and other energy")) == {"t1", "t2"}
    assert labels_of(tagger, "nothing of all that") == []


def test_a_label_without_documents_is_found_by_words_that_no_training_text_has(tagger):
    assert labels_of(tagger, "Loops in quantum gravity") == ["t6"]
    assert tagger.labels_.n_labels == 6
    assert tagger.labels_.counts.tolist() == [2, 2, 2, 1, 1, 0]
    evidence = tagger.explain("Loops in quantum gravity", "quantum gravity")
    assert [found.text for found in evidence] == ["quantum", "gravity"]


def test_a_shared_name_goes_first_to_the_label_it_more_often_means(tagger):
    assert labels_of(tagger, "mercury") == ["t3", "t4"]
    assert labels_of(tagger, "The planet mercury (planet)")[0] == "t3"


def test_a_score_by_hand(tagger):
    model = tagger.model_
    assert model.repeat_ != 0
    own = model.pair_scores_[model.pair_labels_ == 0]
    assert own[0] != own[1]  # of the two names the more telling one counts
    score = own.max() + model.repeat_ * np.log(3) + model.place_ * np.log(2)
    text = "The photovoltaics, solar energy and photovoltaics"
    (tag,) = tagger.tag(text, k=6)
    assert tag.score == pytest.approx(1 / (1 + np.exp(-score)), abs=1e-6)


def test_endings_are_forgiven():
    texts = [*TEXTS, "turbines", "planets and metals", "planet", "metal"]
    labels = [*LABELS, ["t5"], [], [], []]
    forgiving = Tagger("label-match", validation=0).fit(texts, labels, vocabulary=VOCABULARY)
    assert labels_of(forgiving, "two wind turbine") == ["t5"]
    strict = Tagger(LabelMatch(endings=0), validation=0).fit(texts, labels, vocabulary=VOCABULARY)
    assert labels_of(strict, "two wind turbine") == []
    assert labels_of(strict, "two wind turbines") == ["t5"]


def test_explanations_weigh_names_by_how_telling_they_are(tagger):
    X = tagger.learned_.featurizers["text"].transform(["photovoltaics is energy, solar energy"])
    model = tagger.model_
    found = model.explain(X, 0, 0)
    assert found.ids.tolist() == [0, 3, 4]
    shares = dict(zip(found.ids.tolist(), found.weights.tolist(), strict=True))
    assert shares[3] == shares[4]
    # "energy" stands alone in two texts, both with t2; photovoltaics in one, with t1
    (energy,) = set(model.explain(X, 0, 1).weights.tolist())
    assert 1 > energy > shares[0]
    fresh = (3 + 1) / (3 + 10)  # three names stand in one text each, and all three are right
    assert shares[0] == pytest.approx((1 + 3 * fresh) / (1 + 3))
    with pytest.raises(InputError, match="label 6 of a model that knows 6"):
        model.explain(X, 0, 6)
    with pytest.raises(InputError, match="row 1 of X, which has 1 rows"):
        model.explain(X, 1, 0)


def many(n, seed=0):
    """Return texts in which a name in front, or twice, means the label more often."""
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        word = f"name{random.integers(20)}x"
        front = random.random() < 0.5
        filler = " ".join(f"filler{i}" for i in random.integers(0, 50, 12))
        texts.append(f"{word} {filler}" if front else f"{filler} {word}")
        labels.append([word] if random.random() < (0.8 if front else 0.2) else [])
    return texts, labels


def test_scores_are_probabilities_and_the_place_counts():
    tagger = Tagger("label-match", validation=0).fit(*many(2000))
    front = tagger.tag("name3x filler1 filler2 filler3", k=1)[0]
    back = tagger.tag(" ".join([f"filler{i}" for i in range(12)] + ["name3x"]), k=1)[0]
    assert front.label == back.label == "name3x"
    assert front.score == pytest.approx(0.8, abs=0.08)
    assert back.score == pytest.approx(0.2, abs=0.08)


def test_several_batches_and_a_sample_give_the_same_ranking(monkeypatch):
    texts, labels = many(300)
    whole = Tagger("label-match", validation=0).fit(texts, labels)
    monkeypatch.setattr(label_match, "BATCH_TOKENS", 50)
    parts = Tagger("label-match", validation=0).fit(texts, labels)
    assert np.array_equal(whole.rank(texts, 3).scores, parts.rank(texts, 3).scores)
    monkeypatch.setattr(label_match, "SAMPLE_TOKENS", 1300)
    sampled = Tagger("label-match", validation=0).fit(texts, labels)
    assert np.array_equal(whole.rank(texts, 3).labels, sampled.rank(texts, 3).labels)
    assert not np.array_equal(whole.rank(texts, 3).scores, sampled.rank(texts, 3).scores)
    monkeypatch.setattr(label_match, "SAMPLE_TOKENS", 1)  # less than one document
    assert len(Tagger("label-match", validation=0).fit(texts, labels).rank(texts, 3)) == 300


def test_held_out_documents_know_the_labels_without_documents():
    texts, labels = many(300)
    unused = {f"new{i}": Concept(f"fresh{i}") for i in range(5)}
    known = {label: Concept(label) for row in labels for label in row}
    tagger = Tagger("label-match").fit(texts, labels, vocabulary=Vocabulary({**known, **unused}))
    scores = tagger.evaluate(["fresh3 news"], [["new3"]])
    assert scores["P@1"] == 1
    assert not any("not in the training data" in note for note in scores.notes)


def test_a_name_that_too_many_labels_share_is_not_looked_for(monkeypatch):
    vocabulary = Vocabulary({**VOCABULARY.concepts, "t7": Concept("mercury")})
    monkeypatch.setattr(label_match, "MOST_SHARED", 2)
    tagger = Tagger("label-match", validation=0).fit(TEXTS, LABELS, vocabulary=vocabulary)
    assert labels_of(tagger, "mercury and energy") == ["t2"]
    assert labels_of(tagger, "mercury planet") == ["t3"]


def test_save_and_load(tagger, tmp_path):
    tagger.save(tmp_path / "t")
    loaded = Tagger.load(tmp_path / "t")
    assert loaded.tag(TEXTS, k=6) == tagger.tag(TEXTS, k=6)
    assert loaded.explain("mercury", "t4") == tagger.explain("mercury", "t4")


def test_names_that_stand_nowhere_are_told():
    texts, labels = ["a b", "c"] * 10, [["p1"], []] * 10
    with pytest.raises(InputError, match="no label's name, such as 'p1', stands in any of the 20"):
        Tagger("label-match", validation=0).fit(texts, labels)
    with pytest.raises(InputError, match="no label's name"):  # a name without any word
        Tagger("label-match", validation=0).fit(texts, [["!"], []] * 10)


def test_few_documents_need_not_have_the_names():
    tagger = Tagger("label-match", validation=0).fit(["a b", "c"] * 9, [["p1"], []] * 9)
    assert labels_of(tagger, "on p1") == ["p1"]
    assert labels_of(tagger, "a b") == []


def test_a_name_that_no_document_has_is_trusted_the_more_the_longer_it_is():
    vocabulary = Vocabulary({"a": Concept("solar"), "b": Concept("wind energy turbine")})
    tagger = Tagger("label-match", validation=0).fit([], [], vocabulary=vocabulary)
    assert labels_of(tagger, "solar wind energy turbine") == ["b", "a"]


def test_what_it_needs_is_told():
    words = Words().fit(["a b"])
    X, Y = words.transform(["a b"]), csr_array([[1.0]])
    space = LabelSpace(["a"], [1], 1)
    for context in (
        None,
        FitContext(labels=space),
        FitContext(featurizers={"text": words}),
    ):
        with pytest.raises(InputError, match="finds labels by their names: fit it through Tagger"):
            LabelMatch().fit(X, Y, context=context)
    with pytest.raises(InputError, match="use the features 'words', not csr_array"):
        LabelMatch().fit(csr_array([[1.0]]), Y)
    context = FitContext(labels=space, featurizers={"text": words})
    with pytest.raises(InputError, match="endings must be a whole number from 0, got -1"):
        LabelMatch(endings=-1).fit(X, Y, context=context)
    fitted = LabelMatch().fit(X, Y, context=context)
    with pytest.raises(InputError, match="X has 5 words, but label-match learned with 4"):
        fitted.rank(Words().fit(["a b c"]).transform(["a"]))
