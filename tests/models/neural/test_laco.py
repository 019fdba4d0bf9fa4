"""LACO and SeqTag: texts read with labels, all of them or a first stage's best."""

import shutil
from copy import deepcopy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove import Tagger, models
from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences, Views
from labelgrove.core.progress import Silent
from labelgrove.core.types import FitContext, Run
from labelgrove.labels import LabelSpace, Vocabulary
from labelgrove.labels.vocabulary import Concept
from labelgrove.models.contract import CHECKS, Case, known_answer
from labelgrove.models.neural.candidates.all import rank_all
from labelgrove.models.neural.candidates.base import Blueprint
from labelgrove.models.neural.candidates.first_stage import FirstStageLabels
from labelgrove.models.neural.candidates.samplers import Everything
from labelgrove.models.neural.examples import small_bert
from labelgrove.models.neural.laco import Laco
from labelgrove.models.neural.learning import LabelObjective
from labelgrove.models.neural.network import Network
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers import huggingface
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.readers.joint import JointReader, LabelVectors
from labelgrove.models.neural.readers.label_words import label_words
from labelgrove.models.neural.readers.transformer import TransformerReader
from labelgrove.models.neural.scorers.base import Positives
from labelgrove.models.neural.scorers.crf import CrfScorer
from labelgrove.models.neural.scorers.cross_attention import CrossAttention, CrossAttentionScorer
from labelgrove.models.neural.texts import Texts
from labelgrove.models.neural.training.optimizers import new_optimizers
from labelgrove.models.neural.training.windows import Windows
from labelgrove.text import FEATURIZERS
from labelgrove.text.pretrained import load_tokenizer, pair_of, specials_of
from tokenizer_folders import minilm, roberta, sentencepiece_xlnet

START = LabelStart(np.arange(5, 0, -1), 9, "frequency")  # of five labels, the first most frequent
TWO_STAGES = {"together": 4, "candidates": 6, "folds": 2}


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return small_bert(tmp_path_factory.mktemp("encoder"))


def small(bert, **others):
    """Return settings with which little is learned in no time."""
    return {"encoder": bert, "length": 32, "batch": 16, "epochs": 1, "encoder_rate": 0.01,
            "hidden_rate": 0.01, "learning_rate": 0.02, "threads": 1, **others}  # fmt: skip


def text_reader(name, pooling="mean"):
    specials = specials_of(load_tokenizer(name))
    return TransformerReader(huggingface.load_encoder(name), specials, pooling).eval()


def reader_of(name, n_labels=5):
    inner, pair = text_reader(name), pair_of(load_tokenizer(name))
    torch.manual_seed(0)
    return JointReader(inner, pair, n_labels).eval()


def crossed(reader, cross, start=START):
    """Return LACO's network without dropout and tasks."""
    scorer = CrossAttentionScorer(start, reader.n_vector, cross, 0.0)
    return Network(reader, scorer).eval()


def network_of(model, **blueprint):
    """Return the network of a model for five labels, each of one of nine documents."""
    torch.manual_seed(0)
    drawing = Blueprint(np.ones(5, np.int64), 9, **blueprint)
    return model._network(drawing, reader_of(model.encoder)).eval()


# --- reading ------------------------------------------------------------------------------------


def test_a_text_and_labels_stand_as_the_tokenizer_would_put_two_texts(bert):
    reader = reader_of(bert)
    tokens = torch.tensor([[7, 8, 9], [6, 0, 0]])
    labels = torch.tensor([[0, 1], [4, -1]])
    batch = Batch(tokens, torch.tensor([3, 1]), labels)
    frame = reader.frame(batch)
    # [CLS] text [SEP] two labels [SEP]
    assert frame.ids.tolist() == [[2, 7, 8, 9, 3, 0, 0, 3], [2, 6, 3, 0, 3, 0, 0, 0]]
    assert frame.types[0].tolist() == [0, 0, 0, 0, 0, 1, 1, 0]
    assert frame.room.tolist() == [[5, 6], [3, 5]]  # the missing label is behind everything
    assert frame.ends.tolist() == [8, 5]
    vectors = reader.embed(batch)
    torch.testing.assert_close(vectors[0, 5:7], reader.labels[:2])
    torch.testing.assert_close(vectors[1, 3], reader.labels[4])


def test_without_candidates_all_labels_are_read(bert):
    reader = reader_of(bert)
    alone = Batch(torch.tensor([[7, 8, 9], [6, 0, 0]]), torch.tensor([3, 1]))
    every = alone._replace(labels=torch.arange(5).expand(2, -1))
    with torch.no_grad():
        found, wanted = reader(alone), reader(every)
    assert found.labels.shape == (2, 5, reader.n_vector)
    torch.testing.assert_close(found.labels, wanted.labels)
    torch.testing.assert_close(found.vectors, wanted.vectors)


def test_tokenizers_say_how_two_texts_are_read(tmp_path):
    """As their own encoding of a pair has it."""
    for name in (minilm(), roberta(tmp_path / "r"), sentencepiece_xlnet(tmp_path / "x")):
        tokenizer = load_tokenizer(str(name))
        pair, near = pair_of(tokenizer), specials_of(tokenizer)
        wanted = tokenizer("a", "a")
        one, two = tokenizer("a", add_special_tokens=False)["input_ids"], "a"
        two = tokenizer(two, add_special_tokens=False)["input_ids"]
        found = (*pair.before, *one, *pair.between, *two, *pair.behind)
        assert list(found) == wanted["input_ids"]
        assert pair.n_around == len(found) - len(one) - len(two)
        assert near.before == pair.before


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), more=st.integers(1, 5), none=st.integers(1, 3))
def test_padding_and_missing_labels_change_nothing(bert, seed, more, none):
    reader = reader_of(bert)
    torch.manual_seed(seed)
    network = crossed(reader, CrossAttention())
    tokens, lengths = torch.randint(4, 60, (1, 4)), torch.tensor([4])
    labels = torch.tensor([[3, 0, 2]])
    with torch.no_grad():
        alone = network.logits(Batch(tokens, lengths, labels))
        wider = torch.cat([tokens, torch.randint(4, 60, (1, more))], 1)
        both = torch.cat([wider, torch.randint(4, 60, (1, 4 + more))])  # beside a longer text
        asked = torch.cat([labels, torch.full((1, none), -1)], 1).expand(2, -1)
        found = network.logits(Batch(both, torch.tensor([4, 4 + more]), asked))
    torch.testing.assert_close(found[:1, :3], alone, atol=1e-5, rtol=1e-4)


def test_seqtag_steps_over_missing_labels(bert):
    """As LACO does, also in the direction that begins at the end."""
    torch.manual_seed(0)
    reader = reader_of(bert)
    network = Network(reader, CrfScorer(START, reader.n_vector, 4, 0.0)).eval()
    tokens, lengths = torch.randint(4, 60, (1, 4)), torch.tensor([4])
    labels = torch.tensor([[3, 0, 2, -1, -1]])
    with torch.no_grad():
        network.scorer.lstm.back.weight_ih_l0 *= 4
        alone = network.logits(Batch(tokens, lengths, labels[:, :3]))
        found = network.logits(Batch(tokens, lengths, labels))
    torch.testing.assert_close(found[:, :3], alone, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("model", ["laco", "seqtag"])
def test_the_second_stage_begins_with_the_first_ones_opinion(bert, model):
    network = network_of(models.create(model, **small(bert)), begins="zero")
    odds = torch.tensor([[2.0, -1.0, 0.5]])
    batch = Batch(torch.tensor([[7, 8]]), torch.tensor([2]), torch.tensor([[3, 0, 2]]), odds)
    with torch.no_grad():
        torch.testing.assert_close(network.logits(batch), odds, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
def test_without_joint_reading_the_text_is_read_alone(bert, pooling):
    tokens, lengths = torch.tensor([[7, 8, 9], [6, 0, 0]]), torch.tensor([3, 1])
    alone = text_reader(bert, pooling)
    reader = LabelVectors(alone, 5).eval()
    found = reader(Batch(tokens, lengths, torch.tensor([[0, 1], [4, 2]])))
    wanted = alone(Batch(tokens, lengths))
    torch.testing.assert_close(found.pooled, wanted.pooled)
    torch.testing.assert_close(found.vectors, wanted.vectors)
    torch.testing.assert_close(found.labels[1], reader.labels[[4, 2]])
    made = network_of(Laco(encoder=bert, joint=False))
    assert isinstance(made.reader, LabelVectors)


def test_labels_begin_as_the_mean_of_their_words(bert):
    reader = reader_of(bert)
    before = reader.labels.detach().clone()
    reader.begin([torch.tensor([7, 9]), torch.tensor([], dtype=torch.int64), torch.tensor([7, 9])])
    words = reader.inner.encoder.get_input_embeddings().weight
    torch.testing.assert_close(reader.labels[0], words[[7, 9]].mean(0))
    torch.testing.assert_close(reader.labels[1], before[1])  # no words: as random as before
    torch.testing.assert_close(reader.labels[0], reader.labels[2])  # one name for two labels


def test_names_or_descriptions_are_what_labels_begin_as(bert):
    space = LabelSpace(["x", "y"], [1, 1], 2, names=["red", "dark"], descriptions=["", "suns"])
    featurizer = FEATURIZERS.create("subwords", tokenizer=bert).fit([])
    context = FitContext(labels=space, featurizers={"text": featurizer})
    for starts, wanted in (("names", ["red", "dark"]), ("descriptions", ["red", "suns"])):
        tokens = featurizer.transform(wanted)
        found = label_words(starts, context)
        assert [each.tolist() for each in found] == [tokens.sequence(i).tolist() for i in (0, 1)]
    assert label_words("random", context) == []


def test_lower_layers_learn_more_slowly(bert):
    model = Laco(encoder=bert, layer_decay=0.5)
    network = network_of(model)
    (optimizer,) = new_optimizers(network, model.training)
    names = {id(weight): name for name, weight in network.named_parameters()}
    found = {
        names[id(weight)]: (group["rate"], group["share"])
        for group in optimizer.param_groups
        for weight in group["params"]
    }
    assert found.keys() == set(names.values())
    below = "reader.inner.encoder."
    assert found[f"{below}embeddings.word_embeddings.weight"] == ("encoder_rate", 0.25)
    assert found[f"{below}encoder.layer.0.output.dense.weight"] == ("encoder_rate", 0.5)
    assert found[f"{below}encoder.layer.1.output.dense.weight"] == ("encoder_rate", 1.0)
    assert found["reader.labels"] == ("hidden_rate", 1.0)
    assert found["scorer.output.weight"] == ("learning_rate", 1.0)
    assert huggingface.layer_shares(network.reader.inner.encoder, 1.0) == {}


# --- the objective ------------------------------------------------------------------------------


def test_the_best_epoch_is_chosen_by_the_best_micro_f1_of_any_threshold(bert):
    """Three held-out texts whose labels the network is sure of, for better or worse."""

    class Sure(CrossAttentionScorer):
        def logits(self, reading, labels, prior):
            return torch.tensor([[-3.0, -9.0], [-4.0, -5.0], [-9.0, -9.0]])

    def rank(network, texts, k):
        return rank_all([network], texts, k, 3)

    X = TokenSequences(np.array([5, 6, 7]), np.array([0, 1, 2, 3]), 400)
    Y = csr_array(np.array([[1, 0], [0, 1], [1, 0]], np.float32))
    texts, training = Texts(X, Windows(8)), Laco(batch=3).training
    objective = LabelObjective(
        texts, Y, Everything(), None, (texts, Y), rank, Laco.measure, training
    )
    reader, start = reader_of(bert, 2), LabelStart(np.array([2, 1]), 3)
    network = Network(reader, Sure(start, reader.n_vector, None, 0.0)).eval()
    with torch.no_grad():
        # from -5 on 3 are given, 2 are right, 3 are true; from -9 on all 6, of which 3 are right
        assert objective.score(network) == pytest.approx(2 * 2 / (3 + 3))
    assert objective.n_validation == 3


def test_all_losses_are_sums_over_labels_as_printed(bert):
    """Equation 7: what the tasks add is their own loss times its weight, over all labels."""
    tokens, lengths = torch.tensor([[7, 8], [6, 5]]), torch.tensor([2, 2])
    labels = torch.arange(5).expand(2, -1)
    true = torch.tensor([[1, 1, 0, 0, 0], [0, 0, 1, 0, 0]], dtype=torch.bool)

    network = network_of(Laco(encoder=bert, dropout=0.0, plcp=0.25, clcp=0.75))
    scorer = network.scorer
    assert scorer.weights == [0.25, 0.75]
    batch = Batch(tokens, lengths)
    reading = network.reader(batch)
    torch.testing.assert_close(scorer.output.bias, torch.full((5,), 0.15).logit())
    logits = network.logits(batch)
    each = torch.nn.functional.binary_cross_entropy_with_logits(logits, true.float()).item()
    torch.manual_seed(1)
    odds = scorer.output.bias.expand(2, -1)
    pairs, given = (task.loss(reading.labels, true, labels >= 0, odds) for task in scorer.tasks)
    wanted = pytest.approx(each + (0.25 * pairs.item() + 0.75 * given.item()) / 10)
    asked = batch._replace(labels=labels)
    for own, truth in ((batch, Positives(*true.nonzero().T)), (asked, true)):
        torch.manual_seed(1)
        assert network(own, truth).item() == wanted


def gradients(bert, **settings):
    """Return the gradient of a first step for each weight of the reader, as one vector."""
    network = network_of(Laco(encoder=bert, dropout=0.0, **settings))
    true = torch.tensor([[1, 1, 0, 0, 0], [0, 0, 1, 0, 0]], dtype=torch.bool)
    batch = Batch(torch.tensor([[7, 8], [6, 5]]), torch.tensor([2, 2]))
    network(batch, Positives(*true.nonzero().T)).backward()
    weights = (each.grad for each in network.reader.parameters())
    return torch.cat([each.flatten() for each in weights if each is not None])


@pytest.mark.parametrize("head", ["additive", "bilinear"])
def test_tasks_do_not_steer_the_first_step_of_the_encoder(bert, head):
    alone = gradients(bert)
    both = {"plcp": 2.0, "clcp": 0.5, "task_head": head}
    torch.testing.assert_close(gradients(bert, **both), alone)
    # as published, they do
    paper = {"prior": "none", "label_term": False}
    published = gradients(bert, **both, **paper) - gradients(bert, **paper)
    assert published.norm() > alone.norm()


def test_the_second_stages_tasks_start_from_the_first_ones_odds(bert):
    network = network_of(Laco(encoder=bert, dropout=0.0, clcp=1.0), begins="zero")
    odds, labels = torch.tensor([[2.0, -1.0, 0.5]]), torch.tensor([[3, 0, 2]])
    batch = Batch(torch.tensor([[7, 8]]), torch.tensor([2]), labels, odds)
    true = torch.tensor([[True, False, False]])
    found = network(batch, true).item()
    entropy = torch.nn.functional.binary_cross_entropy_with_logits
    own = entropy(odds, true.float(), reduction="sum")
    others = entropy(odds[:, 1:], true[:, 1:].float(), reduction="sum")  # the first is given
    assert found == pytest.approx((own + others).item() / 3, rel=1e-5)


def test_pairs_start_at_the_share_that_is_drawn_from_the_documents(bert):
    texts, labels = known_answer(30)
    model = models.create("laco-plcp", **small(bert, learning_rate=1e-12))
    labels = [each[:1] for each in labels]  # no document has a pair
    network = Tagger(model).fit(texts, labels).model_.networks_[0]
    (task,) = network.scorer.tasks
    assert task.head.other.bias.sigmoid().item() < 0.02  # and not 1/3


def test_the_tasks_weigh_as_in_the_authors_code_by_default(bert):
    def weights(name, counts, **settings):
        drawing = Blueprint(np.ones(counts, np.int64), 9)
        model = models.create(name, encoder=bert, **settings)
        return model._network(drawing, reader_of(bert, counts)).scorer.weights

    assert weights("laco", 54) == []
    assert weights("laco-plcp", 54) == [2.0]
    assert weights("laco-clcp", 54) == [pytest.approx(0.19, abs=0.005)]
    assert weights("laco-clcp", 103) == [pytest.approx(0.10, abs=0.005)]
    # in two stages a text has so many labels as candidates
    assert weights("laco-clcp", 103, together=50, candidates=11) == [1.0]
    assert weights("laco-clcp", 1) == [10.0]
    assert weights("laco-clcp", 54, clcp=0.3, plcp=0.7) == [0.7, 0.3]


def test_the_labels_own_term_counts_in_one_stage_too(bert):
    batch = Batch(torch.tensor([[7, 8], [6, 5]]), torch.tensor([2, 2]))
    network = network_of(Laco(encoder=bert))
    printed = network_of(Laco(encoder=bert, label_term=False))
    with torch.no_grad():
        torch.testing.assert_close(network.logits(batch), printed.logits(batch))  # it starts at 0
        network.scorer.own.weight.normal_()
        own = network.reader(batch).labels @ network.scorer.own.weight[0]
        torch.testing.assert_close(network.logits(batch), printed.logits(batch) + own)
    assert printed.scorer.own is None
    # without joint reading it would be a second bias
    assert network_of(Laco(encoder=bert, joint=False)).scorer.own is None


@pytest.mark.parametrize("joint", [True, False])
def test_biases_norms_and_the_vectors_of_labels_do_not_decay(bert, joint):
    made = Laco(encoder=bert, weight_decay=0.01, plcp=1, clcp=1, task_head="bilinear", joint=joint)
    network = network_of(made, begins="zero")
    (optimizer,) = new_optimizers(network, made.training)
    names = {id(weight): name for name, weight in network.named_parameters()}
    free = {
        names[id(weight)]
        for group in optimizer.param_groups
        for weight in group["params"]
        if group["weight_decay"] == 0
    }
    assert free >= {"reader.labels", "prior_weight", "scorer.output.bias", "scorer.cross.bias",
                    "scorer.tasks.0.head.other.bias", "scorer.tasks.1.head.other.bias"}  # fmt: skip
    assert {name for name in names.values() if "LayerNorm" in name or name.endswith("bias")} <= free
    learned = {name for name in names.values() if name.startswith("scorer") and "bias" not in name}
    assert not learned & free
    assert len(learned) == 11  # output, kernels, label term, and four of each head


# --- whole models -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def in_two_stages(tmp_path_factory):
    settings = Laco.example_settings(tmp_path_factory.mktemp("files"))
    folder = tmp_path_factory.mktemp("case")
    return Case(lambda _: Laco(**{**settings, **TWO_STAGES, "epochs": 2}), folder)


@pytest.mark.parametrize("check", CHECKS)
def test_the_contract_holds_in_two_stages(in_two_stages, check):
    CHECKS[check](in_two_stages)


def test_what_was_not_judged_keeps_its_place_behind(in_two_stages):
    """Nothing is held out, else the first stage's own ranking, which is perfect, would be kept."""
    X, Y = in_two_stages.train
    context = FitContext(featurizers=in_two_stages.featurizers)
    model, (X, _) = in_two_stages.new().fit(X[:100], Y[:100], context=context), in_two_stages.test
    assert isinstance(model.candidates_, FirstStageLabels)
    named = model.candidates_.first.rank(X, 12)
    found = model.rank(X, 12)
    assert [{*row} for row in found.labels[:, :6]] == [{*row} for row in named.labels[:, :6]]
    assert (found.labels[:, 6:] == named.labels[:, 6:]).all()
    assert (found.labels[:, :6] != named.labels[:, :6]).any()


def test_a_label_outside_the_candidates_is_explained_by_the_first_stage(in_two_stages):
    model, (X, _) = in_two_stages.fitted, in_two_stages.test
    named = model.candidates_.first.rank(X, 12).labels[0]
    assert model.explain(X, 0, int(named[-1])).view == "first-text"


def test_of_two_stages_that_explains_which_had_more_to_say(in_two_stages):
    model, (X, _) = deepcopy(in_two_stages.fitted), in_two_stages.test
    best = int(model.candidates_.first.rank(X, 1).labels[0, 0])
    bias = model.networks_[0].scorer.output.bias
    for said, view in ((0.0, "first-text"), (100.0, "text"), (-100.0, "text")):
        with torch.no_grad():
            bias[best] = said
            model.networks_[0].scorer.output.weight[best] = 0.0
            model.networks_[0].scorer.own.weight.zero_()
        assert model.explain(X, 0, best).view == view


def test_two_stages_need_the_features_of_both(in_two_stages):
    X, Y = in_two_stages.train
    with pytest.raises(InputError, match=r"first stage bonsai needs features of its own: give V"):
        in_two_stages.new().fit(X["text"], Y)
    with pytest.raises(InputError, match="in two stages and needs the features of both"):
        in_two_stages.fitted.rank(X["text"], 3)
    with pytest.raises(InputError, match="'first-text' is missing"):
        in_two_stages.fitted.rank(Views({"text": X["text"]}), 3)


def test_a_tagger_keeps_only_what_the_model_reads(bert, tmp_path):
    texts, labels = known_answer(120)
    tagger = Tagger(Laco(**small(bert))).fit(texts, labels)
    tagger.save(tmp_path / "all")
    assert [*tagger.learned_.featurizers] == ["text"]
    again = Tagger.load(tmp_path / "all")
    assert again.rank(texts[:5], 3).labels.tolist() == tagger.rank(texts[:5], 3).labels.tolist()
    second = Tagger(Laco(**small(bert, **TWO_STAGES))).fit(texts, labels)
    assert [*second.learned_.featurizers] == ["text", "first-text"]
    second.save(tmp_path / "two")
    again = Tagger.load(tmp_path / "two")
    assert again.rank(texts[:5], 8).labels.tolist() == second.rank(texts[:5], 8).labels.tolist()


def test_an_interrupted_training_in_two_stages_ends_as_one_that_was_not(bert, tmp_path):
    texts, labels = known_answer(160)
    settings = small(bert, epochs=2, checkpoint_minutes=0, **TWO_STAGES)

    class StoppedError(Exception):
        """In the middle of the second epoch."""

    class Stops(Silent):
        def task(self, title, *others, **facts):
            return Stopping() if "network" in title else super().task(title, *others, **facts)

    class Stopping:
        seen = 0

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def advance(self, n=1, **facts):
            self.seen += n
            if self.seen > 180:
                raise StoppedError

    whole = Tagger(Laco(**settings)).fit(texts, labels)
    run = Run(folder=tmp_path / "run", progress=Stops())
    with pytest.raises(StoppedError):
        Tagger(Laco(**settings)).fit(texts, labels, run=run)
    again = Run(folder=tmp_path / "run", resume=True)
    shutil.copytree(tmp_path / "run", tmp_path / "other")
    for stage in (tmp_path / "other" / "model").glob("first*"):
        shutil.rmtree(stage)
    strange = Tagger(Laco(**settings), features={"first-text": {"norm": None}})
    with pytest.raises(InputError, match="checksum of the candidates"):
        strange.fit(texts, labels, run=Run(folder=tmp_path / "other", resume=True))
    resumed = Tagger(Laco(**settings)).fit(texts, labels, run=again)
    wanted, found = whole.rank(texts[:20], 9), resumed.rank(texts[:20], 9)
    assert np.array_equal(wanted.labels, found.labels)
    np.testing.assert_allclose(wanted.scores, found.scores, rtol=1e-5)


@pytest.mark.parametrize(
    "switched",
    [
        {"joint": False},
        {"cross": False},
        {"joint": False, "cross": False},
        {"across": 10, "cosine": True, "average": False},
        {"plcp": 0.5, "clcp": 0.5, "given": 3},
        {"plcp": 0.5, "clcp": None, "task_head": "bilinear", "prior": "none"},
        {"label_term": False},
        {"windows": 2, "length": 12},
    ],
    ids=str,
)
def test_every_part_can_be_switched(bert, switched):
    texts, labels = known_answer(100)
    tagger = Tagger(Laco(**small(bert, **switched))).fit(texts, labels)
    assert np.isfinite(tagger.rank(texts[:9], 5).scores).all()
    told = tagger.model_.explain(tagger.learned_.features(texts[:1]), 0, 0)
    assert len(told.ids)
    assert np.isfinite(told.weights).all()


@pytest.mark.parametrize("model", ["laco-plcp", "laco-clcp", "seqtag"])
@pytest.mark.parametrize("many", [False, True], ids=["all labels", "two stages"])
def test_odd_documents_and_names_are_learned_from(bert, model, many):
    """One label, all labels, none; a name that is no token, two labels of one name, no text."""
    texts, labels = known_answer(60)
    everything = sorted({label for row in labels for label in row})
    labels[0], labels[1], labels[2] = [everything[0]], everything, []
    texts[3] = ""
    names = dict.fromkeys(everything[:2], "same") | {everything[2]: "   "}
    concepts = {label: Concept(names.get(label, label)) for label in everything}
    chosen = TWO_STAGES if many else {}
    made = models.create(model, **small(bert, **chosen))
    tagger = Tagger(made).fit(texts, labels, vocabulary=Vocabulary(concepts))
    ranking = tagger.rank([*texts[:4], "unheard of"], 20)
    assert ((ranking.scores >= 0) & (ranking.scores <= 1)).all()


@pytest.mark.parametrize("kind", ["distilbert", "roberta", "xlnet", "modernbert"])
def test_encoders_with_other_segments_or_none_work(kind, tmp_path):
    from transformers import (
        AutoModel,
        DistilBertConfig,
        ModernBertConfig,
        RobertaConfig,
        XLNetConfig,
    )

    folder = sentencepiece_xlnet(tmp_path / "x") if kind == "xlnet" else roberta(tmp_path / "r")
    n = specials_of(load_tokenizer(str(folder))).n_terms
    sizes = {"vocab_size": n, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
             "intermediate_size": 32, "pad_token_id": 1}  # fmt: skip
    config = {
        "distilbert": lambda: DistilBertConfig(
            vocab_size=n, dim=16, n_layers=2, n_heads=2, hidden_dim=32, pad_token_id=1
        ),
        "roberta": lambda: RobertaConfig(**sizes, max_position_embeddings=66, type_vocab_size=1),
        "modernbert": lambda: ModernBertConfig(**sizes),
        "xlnet": lambda: XLNetConfig(vocab_size=n, d_model=16, n_layer=2, n_head=2, d_inner=32),
    }[kind]()
    AutoModel.from_config(config).save_pretrained(folder)
    texts, labels = known_answer(40)
    made = Laco(encoder=str(folder), length=24, epochs=1, batch=8, clcp=0.5, threads=1)
    tagger = Tagger(made).fit(texts, labels)
    assert tagger.rank(texts[:3], 4).labels.shape == (3, 4)


def test_labels_for_which_there_is_no_room_are_refused_before_anything_is_learned(bert):
    texts, labels = known_answer(60)
    with pytest.raises(InputError, match=r"labels are \d+ tokens .* reads 64 at most: lower"):
        Tagger(Laco(**small(bert, length=60))).fit(texts, labels)


def test_a_model_is_not_its_own_first_stage(bert):
    with pytest.raises(InputError, match="'laco' is this model itself"):
        Tagger(Laco(**small(bert, first="laco"))).fit(*known_answer(20))
    with pytest.raises(InputError, match="unknown model 'bonsay'"):
        Tagger(Laco(**small(bert, first="bonsay"))).fit(*known_answer(20))


def test_any_model_can_be_the_first_stage(bert):
    texts, labels = known_answer(80)
    ids = sorted({label for row in labels for label in row})
    names = {label: Concept(f"topic{number}a") for number, label in enumerate(ids)}
    made = Laco(**small(bert, first="label-match", **TWO_STAGES))
    tagger = Tagger(made).fit(texts, labels, vocabulary=Vocabulary(names))
    assert isinstance(tagger.learned_.features(texts[:2]), Views)
    assert tagger.rank(texts[:2], 3).labels.shape == (2, 3)
