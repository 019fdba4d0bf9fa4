"""Input that neural models cannot use, or only with care, as a user of Python meets it."""

import json
import os
import shutil
import signal
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from labelgrove import models
from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.progress import Silent, Task
from labelgrove.core.types import FitContext, Run
from labelgrove.models.contract import known_answer
from labelgrove.models.neural.training import checkpoint
from labelgrove.models.neural.training.loop import DivergedError
from labelgrove.models.neural.training.optimizers import new_optimizers
from labelgrove.models.neural.training.settings import Training
from labelgrove.tagger import Tagger
from text_corpora import UnreadTexts

SMALL = {"vector_size": 4, "batch": 8, "epochs": 2, "device": "cpu", "threads": 1,
         "learning_rate": 0.001}  # fmt: skip
OWN = {
    "attentionxml": {"units": 4, "layers": [4], "first": "none"},
    "lightattention": {"units": 4, "layers": [4, 4, 4], "max_leaf": 3, "candidates": 6,
                       "first": "none"},
    "xml-rnn": {"units": 4, "bottleneck": 4},
    "xml-cnn": {"filters": 4, "bottleneck": 4, "parts": 2},
}  # fmt: skip
TREE = {"tree": "always", "max_leaf": 2, "branching": 2, "levels": 2, "parents": 2}
CASES = {**{name: (name, {}) for name in OWN}, "tree": ("attentionxml", TREE)}
TEXTS, LABELS = known_answer(60)


def new(name="xml-rnn", **settings):
    return models.create(name, **{**SMALL, **OWN[name], **settings})


def tagger(name="xml-rnn", validation=0.2, **settings):
    return Tagger(new(name, **settings), validation=validation, threads=1)


class Heard(Silent):
    """Keeps what is said; may press Ctrl-C after so many steps."""

    def __init__(self, stop_after=None):
        self.lines, self.titles, self._left = [], [], stop_after

    def say(self, message):
        self.lines.append(message)

    @contextmanager
    def task(self, title, total=None, unit="documents", done=0):
        self.titles.append(title)
        yield Pressed(self) if title.startswith("training") else Pressed(None)

    def step(self):
        if self._left is not None:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGINT)


class Pressed(Task):
    def __init__(self, heard):
        self._heard = heard

    def advance(self, steps=1, **facts):
        if self._heard is not None:
            self._heard.step()


def weights(model):
    return [value for each in model.networks_ for value in each.state_dict().values()]


def assert_same(found, wanted):
    assert len(weights(found)) == len(weights(wanted))
    for one, other in zip(weights(found), weights(wanted), strict=True):
        assert torch.equal(one, other)


# --- settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "value", "wanted"),
    [
        ("epochs", 0, "a whole number from 1"),
        ("batch", 0, "a whole number from 1"),
        ("units", 0, "a whole number from 1"),
        ("parents", 0, "a whole number from 1"),
        ("ensemble", 0, "a whole number from 1"),
        ("length", 0, "a whole number from 1"),
        ("patience", 0, "a whole number from 1"),
        ("evaluate_every", 0, "a whole number from 1"),
        ("levels", 0, "a whole number from 1"),
        ("max_leaf", 0, "a whole number from 1"),
        ("devices", 0, "a whole number from 1"),
        ("average_from", -1, "a whole number from 0"),
        ("level_epochs", -1, "a whole number from 0"),
        ("vector_size", -300, "a whole number from 0"),
        ("learning_rate", -0.1, "a number above 0"),
        ("learning_rate", 0, "a number above 0"),
        ("learning_rate", float("nan"), "a number above 0"),
        ("clip", 0.0, "a number above 0"),
        ("clip_recent", float("inf"), "a number above 0"),
        ("weight_decay", -1, "a number from 0"),
        ("checkpoint_minutes", -1, "a number from 0"),
        ("dropout", 1.5, "a number from 0, below 1"),
        ("dropout", 1, "a number from 0, below 1"),
        ("vector_dropout", -0.5, "a number from 0, below 1"),
        ("warmup", 2, "a number from 0 to 1"),
        ("layers", [], "a list of whole numbers from 1"),
        ("layers", [0], "a list of whole numbers from 1"),
        ("layers", "256", "a list of whole numbers from 1"),
        ("layers", 256, "a list of whole numbers from 1"),
        ("branching", 3, "a power of two"),
        ("branching", 1, "a power of two"),
        ("precision", "8", "'32' or 'bf16'"),
        ("precision", 32, "'32' or 'bf16'"),
        ("schedule", "step", "'constant' or 'linear' or 'cosine'"),
        ("tree", "maybe", "'auto' or 'always' or 'never'"),
        ("epochs", 2.5, "a whole number"),
        ("train_vectors", "no", "true or false"),
    ],
)
def test_settings_out_of_range(setting, value, wanted):
    with pytest.raises(InputError) as caught:
        new("attentionxml", **{setting: value})
    message = str(caught.value)
    assert message.startswith(f"{setting} must be {wanted}")
    assert message.endswith(f"got {value!r}")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [("xml-cnn", "filters", 0), ("xml-cnn", "parts", 0), ("xml-cnn", "widths", []),
     ("xml-cnn", "widths", [2, 0]), ("xml-rnn", "bottleneck", 0), ("xml-rnn", "units", -1)],
)  # fmt: skip
def test_settings_out_of_range_of_other_models(name, setting, value):
    with pytest.raises(InputError, match=f"^{setting} must be .*got"):
        new(name, **{setting: value})


def test_settings_changed_later_are_checked_before_the_texts_are_read():
    late = tagger()
    late.model.set_params(batch=0)
    with pytest.raises(InputError, match="batch must be a whole number from 1, or None, got 0"):
        late.fit(UnreadTexts(), [["a"]])


def test_numbers_of_numpy_are_settings_too(tmp_path):
    settings = {"units": np.int64(4), "layers": (np.int64(4),), "dropout": np.float32(0.5)}
    model = new("attentionxml", **settings)
    run = Run(folder=tmp_path)
    X, Y = arrays()
    model.fit(X, Y, context=FitContext(run=run))
    again = new("attentionxml", **settings)
    again.fit(X, Y, context=FitContext(run=Run(folder=tmp_path, resume=True)))
    assert_same(again, model)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize(
    ("device", "message"),
    [
        *((each, "cannot be used here: .* 0 of cuda; device='auto' takes")
          for each in ("cuda", "cuda:1", "cpu:0", "cuda:", "cuda:x")),
        *((each, "device must be one of auto, cpu, cuda, mps") for each in ("gpu one", "", "tpu")),
    ],
)  # fmt: skip
def test_a_device_that_is_not_there(device, message):
    with pytest.raises(InputError, match=message) as caught:
        new(device=device)
    assert repr(device) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_what_was_trained_on_a_gpu_ranks_without_one(tmp_path):
    X, Y = arrays()
    model = new().fit(X, Y)
    wanted = model.rank(X, 3)
    model.set_params(device="cuda").save(tmp_path / "m")
    found = type(model).load(tmp_path / "m").rank(X, 3)
    np.testing.assert_array_equal(found.labels, wanted.labels)


# --- vectors ------------------------------------------------------------------------------------


def vectors(path, words, width=4):
    path.write_text("".join(f"{word} {' '.join(['0.5'] * width)}\n" for word in words))
    return str(path)


def test_vectors_of_another_width(tmp_path):
    file = vectors(tmp_path / "v.txt", ["topic1a", "topic2a"], width=6)
    with pytest.raises(InputError, match=r"v.txt holds vectors of 6 numbers, but vector_size is 4"):
        tagger(vectors=file).fit(TEXTS, LABELS)
    fitted = tagger(vectors=file, vector_size=0).fit(TEXTS, LABELS)
    (network,) = fitted.model_.networks_
    assert network.reader.words.lookup.embedding_dim == 6


def test_vectors_of_several_widths(tmp_path):
    file = tmp_path / "v.txt"
    file.write_text("topic1a 1 2 3 4\nnoise1 1 2 3 4\ntopic2a 1 2 3\n")
    with pytest.raises(BadRowError, match=r"v.txt, line 3: this line has 3 numbers instead of 4"):
        tagger(vectors=str(file)).fit(TEXTS, LABELS)
    file.write_text("topic1a 1 2 3 4\ntopic2a 1 2 3 4 5\n")
    with pytest.raises(BadRowError, match=r"v.txt, line 2: this line has 5 numbers instead of 4"):
        tagger(vectors=str(file)).fit(TEXTS, LABELS)


def test_vectors_without_a_known_word(tmp_path):
    file = vectors(tmp_path / "v.txt", ["Topic1A", "woord"])
    with pytest.raises(InputError, match=r"v.txt has a vector for none of the \d+ words"):
        tagger(vectors=file).fit(TEXTS, LABELS)


def test_vectors_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match=r"none\.txt"):
        tagger(vectors=str(tmp_path / "none.txt")).fit(TEXTS, LABELS)


# --- texts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_texts_longer_than_the_limit(case):
    name, settings = CASES[case]
    heard = Heard()
    long = [f"{text} {' '.join(['endless'] * 30)}" for text in TEXTS[:20]]
    learner = tagger(name, length=9, **settings)
    fitted = learner.fit(long + TEXTS[20:], LABELS, run=Run(progress=heard))
    (said,) = [line for line in heard.lines if "what follows is not read" in line]
    words = [len(text.split()) for text in long + TEXTS[20:]]
    known = fitted.learned_.features(long + TEXTS[20:]).lengths
    assert known.tolist() == [min(n, 9) for n in words]
    assert "have 9 words (length) or more" in said
    cut = [" ".join(text.split()[:9]) for text in long]
    found, wanted = fitted.rank(long, 5), fitted.rank(cut, 5)
    np.testing.assert_array_equal(found.labels, wanted.labels)
    np.testing.assert_array_equal(found.scores, wanted.scores)


def test_the_share_of_cut_texts():
    X, Y = arrays()
    heard = Heard()
    model = new(length=5).fit(X, Y, context=FitContext(run=Run(progress=heard)))
    n = int((X.lengths >= 5).sum())
    assert 0 < n < len(X)
    assert any(line.startswith(f"{n} documents ({n / len(X):.1%})") for line in heard.lines)
    cut = TokenSequences(
        np.concatenate([X.sequence(i)[:5] for i in range(len(X))]),
        np.concatenate([[0], np.cumsum(np.minimum(X.lengths, 5))]),
        X.n_terms,
    )
    again = new(length=5).fit(cut, Y)
    assert_same(again, model)
    np.testing.assert_array_equal(model.rank(X, 3).scores, model.rank(cut, 3).scores)


@pytest.mark.parametrize("case", CASES)
def test_unknown_words_and_no_words(case):
    name, settings = CASES[case]
    texts, labels = [*TEXTS, "", "..."], [*LABELS, ["label 00"], []]
    fitted = tagger(name, **settings).fit(texts, labels)
    odd = ["nothing", "", " \n", "quite unheard of", TEXTS[0]]
    X = fitted.learned_.features(odd)
    assert [X.sequence(i).tolist() for i in range(4)] == [[1], [1], [1], [1, 1, 1]]
    scores = fitted.model_.rank(X, 12).to_csr(12).toarray()
    assert np.isfinite(scores).all()
    for alike in (1, 2):
        np.testing.assert_allclose(scores[alike], scores[0], rtol=1e-4)
    for tags in fitted.tag(odd, k=3):
        assert len(tags) == 3
        assert all(0 <= tag.score <= 1 for tag in tags)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("batch", [1, 19])
def test_batches_of_one(case, batch):
    """Each on its own, or a last one alone."""
    name, settings = CASES[case]
    X, Y = arrays(20)
    held = arrays(20, seed=1)
    model = new(name, batch=batch, **settings)
    model.fit(X, Y, context=FitContext(validation=held))
    assert len(model.history_) >= 2
    assert all(np.isfinite(event["score"]) for event in model.history_)
    ranking = model.rank(X, 3)
    for i in (0, 7):
        alone = model.rank(X[np.array([i])], 3)
        np.testing.assert_allclose(alone.scores[0], ranking.scores[i], rtol=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_one_document_and_one_label(case):
    name, settings = CASES[case]
    X = TokenSequences(np.array([2, 3]), np.array([0, 2]), 4)
    model = new(name, **settings).fit(X, csr_array(np.ones((1, 1), np.float32)))
    assert model.rank(X, 5).labels.tolist() == [[0]]


def test_another_vocabulary_at_the_second_fit():
    model = new()
    X, Y = arrays()
    model.fit(X, Y)
    wider = TokenSequences(X.tokens, X.offsets, X.n_terms + 5)
    with pytest.raises(InputError, match=r"words, but xml-rnn learned with"):
        model.rank(wider, 3)
    with pytest.raises(InputError, match=r"words, but xml-rnn learned with"):
        model.fit(X, Y, context=FitContext(validation=(wider, Y)))
    model.fit(wider, Y)
    assert model.rank(wider, 3).labels.shape == (len(X), 3)


# --- validation ---------------------------------------------------------------------------------


def arrays(n=40, seed=0):
    """Return texts of some ten words, and labels; words 2 to 13 give 12 labels away."""
    rng = np.random.default_rng(seed)
    own = [rng.choice(12, rng.integers(1, 4), replace=False) for _ in range(n)]
    texts = [np.concatenate([each + 2, rng.integers(14, 30, rng.integers(1, 6))]) for each in own]
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    rows = np.repeat(np.arange(n), [len(each) for each in own])
    cells = (np.ones(len(rows), np.float32), (rows, np.concatenate(own)))
    return TokenSequences(np.concatenate(texts), offsets, 30), csr_array(cells, shape=(n, 12))


@pytest.mark.parametrize("case", CASES)
def test_validation_without_labels(case):
    name, settings = CASES[case]
    X, Y = arrays()
    none = csr_array((len(X), 12), dtype=np.float32)
    unseen = csr_array((np.ones(len(X), np.float32), (np.arange(len(X)), [12] * len(X))))
    fitted = []
    for truth in (none, unseen):
        heard = Heard()
        context = FitContext(validation=(X, truth), run=Run(progress=heard))
        fitted.append(new(name, **settings).fit(X, Y, context=context))
        assert "no held-out document has a known label: training is not stopped early" in (
            heard.lines
        )
        assert all("score" not in event for event in fitted[-1].history_)
    assert_same(*fitted)
    assert_same(fitted[0], new(name, **settings).fit(X, Y))


def test_held_out_share_without_labels():
    """By bad luck the documents that are held out are those without labels."""
    from labelgrove.core.random import text_fraction

    texts = [f"{text} {number}" for number, text in enumerate(TEXTS)]
    labels = [
        [] if text_fraction(text, 0) < 0.2 else own for text, own in zip(texts, LABELS, strict=True)
    ]
    assert sum(not own for own in labels) > 5
    heard = Heard()
    fitted = tagger().fit(texts, labels, run=Run(progress=heard))
    assert any("no held-out document has a known label" in line for line in heard.lines)
    assert len(fitted.tag(TEXTS[0], k=3)) == 3


def test_validation_corpus_without_labels():
    bare = (["topic1a"], [["label 99"]])
    with pytest.raises(InputError, match="no document has a label of the training data"):
        tagger().fit(TEXTS, LABELS, validation=bare)


# --- checkpoints --------------------------------------------------------------------------------


def resume(name, folder, texts=TEXTS, labels=LABELS, validation=0.2, **settings):
    run = Run(folder=folder, resume=True)
    return tagger(name, validation, **settings).fit(texts, labels, run=run)


def content(folder):
    return {path: path.stat().st_mtime_ns for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run folder of every case, as a training leaves it when it ends."""
    found = {}
    for case, (name, settings) in CASES.items():
        found[case] = tmp_path_factory.mktemp(case)
        tagger(name, **settings).fit(TEXTS, LABELS, run=Run(folder=found[case]))
    return found


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        ("xml-rnn", "xml-cnn", "model was 'xml-rnn' and is 'xml-cnn' now"),
        ("xml-rnn", "attentionxml", "model was 'xml-rnn' and is 'attentionxml' now"),
        ("attentionxml", "xml-rnn", "model was 'attentionxml' and is 'xml-rnn' now"),
        ("attentionxml", "tree", "tree was 'auto' and is 'always' now"),
        ("tree", "attentionxml", "tree was 'always' and is 'auto' now"),
    ],
)
def test_checkpoint_of_another_model(before, now, message, kept):
    there = content(kept[before])
    name, settings = CASES[now]
    with pytest.raises(InputError, match="is of another training") as caught:
        resume(name, kept[before], **settings)
    assert message in str(caught.value)
    assert "start anew" in str(caught.value)
    assert content(kept[before]) == there, "nothing is lost"


def test_checkpoint_of_a_linear_model_and_the_other_way_round(kept, tmp_path):
    linear = Tagger(models.create("bonsai", threads=1), validation=0.2)
    linear.fit(TEXTS, LABELS, run=Run(folder=tmp_path))
    there = content(tmp_path)
    with pytest.raises(InputError, match=r"holds a training of another kind of model .*anew"):
        resume("xml-rnn", tmp_path)
    assert content(tmp_path) == there
    there = content(kept["xml-rnn"])
    with pytest.raises(InputError, match=r"holds a training of another kind of model .*anew"):
        linear.fit(TEXTS, LABELS, run=Run(folder=kept["xml-rnn"], resume=True))
    assert content(kept["xml-rnn"]) == there


@pytest.mark.parametrize("case", ["xml-rnn", "tree"])
def test_labels_that_changed_since_the_checkpoint(case, kept):
    name, settings = CASES[case]
    there = content(kept[case])
    more = [["brand new", *own] if i == 3 else own for i, own in enumerate(LABELS)]
    with pytest.raises(InputError, match=r"another training .labels was 12 and is 13 now"):
        resume(name, kept[case], labels=more, **settings)
    swap = [LABELS[1], LABELS[0], *LABELS[2:]]
    assert swap != LABELS
    with pytest.raises(InputError, match=r"another training .checksum of the data was"):
        resume(name, kept[case], labels=swap, **settings)
    with pytest.raises(InputError, match=r"another training .documents was"):
        resume(name, kept[case], texts=TEXTS[:50], labels=LABELS[:50], **settings)
    assert content(kept[case]) == there


def test_validation_that_changed_since_the_checkpoint(tmp_path):
    X, Y = arrays()
    first, second = arrays(20, seed=1), arrays(20, seed=2)
    new().fit(X, Y, context=FitContext(validation=first, run=Run(folder=tmp_path)))
    again = FitContext(validation=second, run=Run(folder=tmp_path, resume=True))
    with pytest.raises(InputError, match=r"another training .checksum of the data was"):
        new().fit(X, Y, context=again)


@pytest.mark.parametrize(("case", "settings"), [("tree", {}), ("attentionxml", {"ensemble": 2})])
@pytest.mark.parametrize("left", [0, 1])
def test_killed_between_two_networks(case, settings, left, tmp_path):
    """Only the first networks are there; those that follow must not depend on who trained them."""
    name, more = CASES[case]
    X, Y = arrays()
    run = Run(folder=tmp_path)
    whole = new(name, **more, **settings).fit(X, Y, context=FitContext(run=run))
    assert len(whole.networks_) > left
    for folder in sorted(tmp_path.iterdir())[left:]:
        shutil.rmtree(folder)
    again = Run(folder=tmp_path, resume=True)
    found = new(name, **more, **settings).fit(X, Y, context=FitContext(run=again))
    assert_same(found, whole)


def test_what_learns_is_numbered_in_the_same_order_in_every_process():
    network = torch.nn.ModuleList(torch.nn.Embedding(3, 2, sparse=True) for _ in range(8))
    (optimizer,) = new_optimizers(network, Training())
    (group,) = optimizer.param_groups
    assert list(map(id, group["params"])) == [id(each.weight) for each in network]


@pytest.mark.parametrize("case", CASES)
def test_ctrl_c_and_resume(case, tmp_path):
    name, settings = CASES[case]
    X, Y = arrays()
    held = arrays(20, seed=1)
    whole = new(name, **settings).fit(X, Y, context=FitContext(validation=held))
    heard = Heard(stop_after=7)
    with pytest.raises(KeyboardInterrupt):
        new(name, **settings).fit(
            X, Y, context=FitContext(validation=held, run=Run(tmp_path, progress=heard))
        )
    context = FitContext(validation=held, run=Run(tmp_path, resume=True))
    assert_same(new(name, **settings).fit(X, Y, context=context), whole)


def test_ctrl_c_at_the_very_end_is_not_swallowed(tmp_path):
    X, Y = arrays()
    heard = Heard(stop_after=10)  # the last step: two epochs of 40 documents by eight
    with pytest.raises(KeyboardInterrupt):
        new().fit(X, Y, context=FitContext(run=Run(tmp_path, progress=heard)))
    assert checkpoints(tmp_path) == ["checkpoint-000000010"]
    found = new().fit(X, Y, context=FitContext(run=Run(tmp_path, resume=True)))
    assert_same(found, new().fit(X, Y))


def test_a_second_ctrl_c_waits_for_the_checkpoint(tmp_path, monkeypatch):
    X, Y = arrays()
    save = checkpoint.save

    def save_while_pressed(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        save(*arguments)

    monkeypatch.setattr(checkpoint, "save", save_while_pressed)
    with pytest.raises(KeyboardInterrupt):
        new().fit(X, Y, context=FitContext(run=Run(tmp_path, progress=Heard(stop_after=3))))
    assert checkpoints(tmp_path) == ["checkpoint-000000003"]
    monkeypatch.undo()
    found = new().fit(X, Y, context=FitContext(run=Run(tmp_path, resume=True)))
    assert_same(found, new().fit(X, Y))


# --- losses that are not numbers ----------------------------------------------------------------


def checkpoints(folder):
    return sorted(path.name for path in folder.rglob("checkpoint-*"))


def test_loss_without_a_number_at_once(tmp_path):
    X, Y = arrays()
    wild = new("attentionxml", learning_rate=1e25, clip_recent=None, checkpoint_minutes=0)
    with pytest.raises(DivergedError, match=r"at step 2 \(epoch 1\): lower learning_rate") as told:
        wild.fit(X, Y, context=FitContext(run=Run(tmp_path)))
    assert str(told.value).endswith("and begin anew"), "there is no good checkpoint to go on from"
    assert checkpoints(tmp_path) == []


@pytest.mark.parametrize("case", ["attentionxml", "tree"])
def test_the_last_good_checkpoint_is_kept_and_goes_on_with_a_lower_rate(case, tmp_path):
    name, settings = CASES[case]
    settings = {**settings, "clip_recent": None, "checkpoint_minutes": 0}
    X, Y = arrays()
    with pytest.raises(KeyboardInterrupt):
        new(name, **settings).fit(
            X, Y, context=FitContext(run=Run(tmp_path, progress=Heard(stop_after=3)))
        )
    again = Run(tmp_path, resume=True)
    wild = new(name, learning_rate=1e25, **settings)
    with pytest.raises(DivergedError, match=r"at step 5 .*go on from step 3 .resume=True"):
        wild.fit(X, Y, context=FitContext(run=again))
    assert checkpoints(tmp_path) == ["checkpoint-000000003"], "that of step 4 would be of no use"
    heard = Heard()
    calm = new(name, learning_rate=0.01, clip=1.0, **settings)
    calm.fit(X, Y, context=FitContext(run=Run(tmp_path, resume=True, progress=heard)))
    assert "learning_rate is 0.01 now and was 0.001" in heard.lines
    assert "clip is 1.0 now and was None" in heard.lines
    assert np.isfinite(calm.rank(X, 3).scores).all()


def test_a_network_that_gives_no_numbers_is_not_the_best():
    """The last step of an epoch spoils the weights; no loss is computed before the evaluation."""
    X, Y = arrays(8)
    wild = new("xml-cnn", learning_rate=1e25, epochs=1)
    with pytest.raises(DivergedError, match="validation score is nan at step 1 "):
        wild.fit(X, Y, context=FitContext(validation=arrays(8, seed=1)))


def test_history_and_checkpoints_are_plain_json(kept):
    (path,) = (kept["xml-rnn"] / "model" / "network 1").glob("checkpoint-*/facts.json")
    facts = json.loads(path.read_text())
    assert facts["belongs"]["model"] == "xml-rnn"
    assert facts["rates"] == {"learning_rate": 0.001, "clip": None, "clip_recent": 5.0}
