"""Pretrained transformers: readers, what learns of them, windows, models that stand alone."""

import pickle
import shutil

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labelgrove import Tagger, models
from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Run
from labelgrove.models.contract import known_answer
from labelgrove.models.neural.candidates.base import Blueprint
from labelgrove.models.neural.examples import small_bert, small_xlnet
from labelgrove.models.neural.readers import huggingface
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.readers.transformer import TransformerReader
from labelgrove.models.neural.training.batches import padded
from labelgrove.models.neural.training.optimizers import new_optimizers
from labelgrove.models.neural.training.windows import Windows, best_of
from labelgrove.text import FEATURIZERS
from labelgrove.text.pretrained import load_tokenizer, specials_of
from text_corpora import UnreadTexts
from tokenizer_folders import minilm, roberta, sentencepiece_xlnet

TEXTS = ["red suns shine over the gardens", "dark rivers", "bright readers sleep behind houses"]
SMALL = {"length": 48, "batch": 16, "epochs": 1, "encoder_rate": 0.01, "threads": 1}


def saved(config, folder):
    """Put a model with random weights beside a tokenizer."""
    from transformers import AutoModel

    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """The folder of a small BERT that no test changes."""
    return small_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def encoders(bert, tmp_path_factory):
    """Folders of small models of several architectures, with tokenizers trained on the spot."""
    from transformers import DistilBertConfig, ModernBertConfig, RobertaConfig, XLNetConfig

    folder = tmp_path_factory.mktemp("encoders")
    found = {"bert": bert}
    path = sentencepiece_xlnet(folder / "xlnet")
    n = specials_of(load_tokenizer(str(path))).n_terms
    found["xlnet"] = saved(
        XLNetConfig(vocab_size=n, d_model=16, n_layer=2, n_head=2, d_inner=32), path
    )
    path = roberta(folder / "roberta")
    n = specials_of(load_tokenizer(str(path))).n_terms
    sizes = {"vocab_size": n, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
             "intermediate_size": 32, "pad_token_id": 1}  # fmt: skip
    found["roberta"] = saved(RobertaConfig(**sizes, max_position_embeddings=66), path)
    path = roberta(folder / "modernbert")
    found["modernbert"] = saved(ModernBertConfig(**sizes), path)
    path = roberta(folder / "distilbert")
    config = DistilBertConfig(
        vocab_size=n, dim=16, n_layers=2, n_heads=2, hidden_dim=32, pad_token_id=1
    )
    found["distilbert"] = saved(config, path)
    return found


def reader_of(name, pooling="mean"):
    specials = specials_of(load_tokenizer(name))
    return TransformerReader(huggingface.load_encoder(name), specials, pooling).eval()


def numbers(name, texts=TEXTS):
    X = FEATURIZERS.create("subwords", tokenizer=name).fit_transform(texts)
    return Batch(*padded(X, np.arange(len(texts))))


# --- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bert", "xlnet", "roberta", "modernbert", "distilbert"])
@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
def test_a_reader_sees_what_its_library_would(encoders, name, pooling):
    """Also of XLNet, which its library pads in front: we pad behind."""
    folder = encoders[name]
    reader, tokenizer = reader_of(folder, pooling), load_tokenizer(folder)
    with torch.inference_mode():
        ours = reader(numbers(folder)).pooled
        given = tokenizer(TEXTS, padding=True, return_tensors="pt")
        if name in ("distilbert", "modernbert"):
            given.pop("token_type_ids", None)
        states = reader.encoder(**given).last_hidden_state
    mask = given["attention_mask"]
    for i in range(len(TEXTS)):
        own = states[i][mask[i].bool()]
        theirs = {"first": own[0], "last": own[-1], "mean": own.mean(0)}[pooling]
        torch.testing.assert_close(ours[i], theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "xlnet", "roberta", "modernbert", "distilbert"])
def test_texts_of_a_batch_do_not_influence_each_other(encoders, name):
    reader = reader_of(encoders[name])
    with torch.inference_mode():
        together = reader(numbers(encoders[name])).pooled
        for i, text in enumerate(TEXTS):
            alone = reader(numbers(encoders[name], [text])).pooled[0]
            torch.testing.assert_close(together[i], alone, rtol=1e-4, atol=1e-5)


def test_pooling_is_that_of_the_architecture_unless_the_model_says_another(encoders):
    told = {
        name: huggingface.pooling_for(folder, specials_of(load_tokenizer(folder)))
        for name, folder in encoders.items()
    }
    assert told["xlnet"] == "last"
    assert told["bert"] == told["roberta"] == "first"
    real = str(minilm())
    assert huggingface.pooling_for(real, specials_of(load_tokenizer(real))) == "mean"


def test_how_much_can_be_read_at_once(encoders):
    longest = {
        name: huggingface.longest_input(huggingface.load_encoder(folder))
        for name, folder in encoders.items()
    }
    assert longest == {
        "bert": 64, "xlnet": None, "roberta": 64, "modernbert": 8192, "distilbert": 512,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["bert", "xlnet", "modernbert"])
def test_an_encoder_is_built_again_from_its_configuration(encoders, name):
    encoder = huggingface.load_encoder(encoders[name])
    again = huggingface.from_config(huggingface.config_of(encoder))
    shapes = {key: value.shape for key, value in encoder.state_dict().items()}
    assert shapes == {key: value.shape for key, value in again.state_dict().items()}
    empty = huggingface.skeleton(encoders[name])
    assert shapes == {key: value.shape for key, value in empty.state_dict().items()}


# --- what learns --------------------------------------------------------------------------------


def learning(encoder):
    return {name for name, each in encoder.named_parameters() if each.requires_grad}


@pytest.mark.parametrize("name", ["bert", "xlnet", "modernbert", "distilbert"])
def test_frozen_layers_and_what_is_below_them_do_not_learn(encoders, name):
    encoder = huggingface.load_encoder(encoders[name])
    huggingface.freeze(encoder, 0)
    every = learning(encoder)
    huggingface.freeze(encoder, 1)
    upper = learning(encoder)
    assert upper
    assert upper < every
    assert not [each for each in upper if ".0." in each or "embedding" in each], "these are below"
    assert [each for each in upper if ".1." in each]
    assert not [each for each in every - upper if ".1." in each or "final" in each]
    huggingface.freeze(encoder, -1)
    assert not learning(encoder)
    with pytest.raises(InputError, match=r"frozen is 3, but the encoder has 2 layers"):
        huggingface.freeze(encoder, 3)


@pytest.mark.parametrize("name", ["bert", "roberta", "modernbert"])
def test_inner_values_that_are_computed_again_give_the_same_gradients(encoders, name):
    gradients = []
    for again in (False, True):
        reader = reader_of(encoders[name]).train()
        for module in reader.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        if again:
            huggingface.checkpointed(reader.encoder)
            pickle.dumps(reader)  # as several processes need it
        reader(numbers(encoders[name])).pooled.square().sum().backward()
        gradients.append({n: p.grad for n, p in reader.named_parameters() if p.grad is not None})
    assert gradients[0].keys() == gradients[1].keys()
    for key, value in gradients[0].items():
        torch.testing.assert_close(value, gradients[1][key], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["bert", "xlnet"])
def test_low_rank_updates_learn_alone_and_are_merged(encoders, name):
    plain = huggingface.load_encoder(encoders[name])
    before = {key: value.clone() for key, value in plain.state_dict().items()}
    encoder = huggingface.with_updates(plain, 2)
    assert all("lora_" in each for each in learning(encoder))
    assert len(learning(encoder)) > 2
    for key, value in encoder.named_parameters():
        if "lora_B" in key:
            torch.nn.init.normal_(value)
    reader = TransformerReader(encoder, specials_of(load_tokenizer(encoders[name])), "mean").eval()
    with torch.inference_mode():
        changed = reader(numbers(encoders[name])).pooled
    reader.encoder = huggingface.merged(encoder)
    with torch.inference_mode():
        found = reader(numbers(encoders[name])).pooled
    torch.testing.assert_close(found, changed, rtol=1e-3, atol=1e-4)
    after = reader.encoder.state_dict()
    assert after.keys() == before.keys()
    assert any(not torch.equal(after[key], before[key]) for key in before)


def test_parts_learn_at_rates_of_their_own(bert):
    model = models.create("transformer", encoder=bert, hidden=8, learning_rate=1e-3)
    network = model._network(Blueprint(np.ones(3, np.int64), 9), reader_of(bert))
    (optimizer,) = new_optimizers(network, model.training)
    names = {id(weight): name for name, weight in network.named_parameters()}
    groups = {}
    for group in optimizer.param_groups:
        groups.setdefault(group["rate"], set()).update(names[id(each)] for each in group["params"])
    assert {group["share"] for group in optimizer.param_groups} == {1.0}
    assert groups.pop("encoder_rate") == {
        name for name in names.values() if name.startswith("reader.encoder.")
    }
    assert groups == {
        "hidden_rate": {"scorer.hidden.0.weight", "scorer.hidden.0.bias"},
        "learning_rate": {"scorer.output.linear.weight", "scorer.output.linear.bias"},
    }
    used = {rate: getattr(model.training, rate) for rate in ("encoder_rate", *groups)}
    assert used == {"encoder_rate": 5e-5, "hidden_rate": 1e-4, "learning_rate": 1e-3}
    given = models.create("transformer", encoder=bert, encoder_rate=1e-5, hidden_rate=2e-4)
    assert (given.training.encoder_rate, given.training.hidden_rate) == (1e-5, 2e-4)


def test_a_step_moves_each_part_by_its_rate(bert):
    """Adam's first step is as long as the learning rate, whatever the gradient."""
    texts, labels = known_answer(16)
    rates = {"encoder_rate": 1e-4, "hidden_rate": 1e-3, "learning_rate": 1e-2}
    model = models.create("transformer", encoder=bert, hidden=8, weight_decay=0.0, clip=None,
                          schedule="constant", **{**SMALL, **rates})  # fmt: skip
    tagger = Tagger(model, validation=0).fit(texts, labels)
    network = tagger.model_.networks_[0]
    before = huggingface.load_encoder(bert)
    moved = {
        key: float((value - dict(before.named_parameters())[key]).detach().abs().max())
        for key, value in network.reader.encoder.named_parameters()
    }
    assert max(moved.values()) == pytest.approx(1e-4, rel=0.02)


# --- windows ------------------------------------------------------------------------------------


def test_windows_of_long_and_short_texts():
    X = TokenSequences(np.arange(12), np.array([0, 7, 7, 9, 12]), 20)
    windows = Windows(3, 2)
    pieces, owners = windows.split(X)
    assert owners.tolist() == [0, 0, 1, 2, 3]
    assert [pieces.sequence(i).tolist() for i in range(5)] == [
        [0, 1, 2], [3, 4, 5], [], [7, 8], [9, 10, 11],
    ]  # fmt: skip
    torch.manual_seed(0)
    seen = {tuple(windows.drawn(X).sequence(0).tolist()) for _ in range(30)}
    assert seen == {(0, 1, 2), (3, 4, 5)}


@given(st.data())
def test_the_best_of_windows_is_exact(data):
    n_labels, n = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    counts = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    owners = np.repeat(np.arange(n), counts)
    chances = st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.9]), min_size=n_labels, max_size=n_labels)
    dense = np.array([data.draw(chances) for _ in owners], np.float32)
    k = data.draw(st.integers(1, n_labels))
    found = best_of(Ranking.from_dense(dense, k), owners, n)
    largest = np.stack([dense[owners == i].max(axis=0) for i in range(n)])
    wanted = Ranking.from_dense(largest, k)
    assert np.array_equal(found.scores, wanted.scores)
    for i in range(n):
        for label, score in found.row(i):
            assert largest[i, label] == np.float32(score)


def test_what_stands_late_in_a_text_is_found_with_windows_only(bert):
    texts, labels = known_answer(300)
    late = ["noise1 " * 40 + text for text in texts]
    shares = {}
    for windows in (1, 4):
        model = models.create(
            *("transformer",), encoder=bert, pooling="mean",
            **{**SMALL, "length": 34, "epochs": 8, "windows": windows},
        )  # fmt: skip
        tagger = Tagger(model, validation=0).fit(texts, labels)
        shares[windows] = tagger.evaluate(late, labels)["P@1"]
    assert shares[4] > shares[1] + 0.2


# --- models -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["transformer", "aplc-xlnet"])
def test_a_saved_tagger_needs_its_encoder_no_more(name, tmp_path):
    texts, labels = known_answer(60)
    settings = models.MODELS.find(name).example_settings(tmp_path / "encoder")
    model = models.create(name, **{**settings, "epochs": 1})
    tagger = Tagger(model).fit(texts, labels)
    tagger.save(tmp_path / "saved")
    shutil.rmtree(tmp_path / "encoder")
    loaded = Tagger.load(tmp_path / "saved")
    assert loaded.tag(texts[0]) == tagger.tag(texts[0])
    weights = sum(p.numel() * 4 for p in tagger.model_.networks_[0].parameters())
    written = sum(path.stat().st_size for path in (tmp_path / "saved").rglob("*.safetensors"))
    written += sum(path.stat().st_size for path in (tmp_path / "saved").rglob("*.npy"))
    assert written < 1.2 * weights + 60_000, "each weight once, and the tokenizer"


@pytest.mark.parametrize(
    "special", [{}, {"lora": 2}, {"frozen": 1, "checkpointing": True}, {"windows": 2, "length": 16}]
)
def test_an_interrupted_training_goes_on_as_if_it_were_not(special, bert, tmp_path):
    texts, labels = known_answer(120)
    settings = {**SMALL, **special, "encoder": bert, "epochs": 2}
    whole = Tagger(models.create("transformer", **settings)).fit(texts, labels)

    class StoppedError(Exception):
        pass

    class Stops:
        """Progress that gives up in the second epoch."""

        def say(self, message):
            pass

        def track(self, items, title, total=None):
            return items

        def task(self, title, total=None, done=0):
            return self

        def __enter__(self):
            self.seen = 0
            return self

        def __exit__(self, *error):
            pass

        def advance(self, n=1, **facts):
            self.seen += n
            if self.seen > 140:
                raise StoppedError

    run = Run(folder=tmp_path / "run", progress=Stops())
    with pytest.raises(StoppedError):
        Tagger(models.create("transformer", **settings)).fit(texts, labels, run=run)
    again = Run(folder=tmp_path / "run", resume=True)
    resumed = Tagger(models.create("transformer", **settings)).fit(texts, labels, run=again)
    wanted, found = whole.rank(texts[:20], 5), resumed.rank(texts[:20], 5)
    assert np.array_equal(wanted.labels, found.labels)
    np.testing.assert_allclose(wanted.scores, found.scores, rtol=1e-5)


def test_a_real_pretrained_model_learns_from_few_texts():
    """MiniLM knows that suns and moons are alike before it has read a text of ours."""
    sky = [
        "the sun rose early",
        "a bright moon at night",
        "stars in the sky",
        "clouds and sunlight",
    ]
    money = ["the bank raised its rates", "shares fell on the market", "a loan with interest",
             "investors bought bonds"]  # fmt: skip
    texts = 4 * (sky + money)
    labels = 4 * ([["sky"]] * 4 + [["money"]] * 4)
    model = models.create("transformer", encoder=str(minilm()), length=16, frozen=-1, batch=8,
                          epochs=10, learning_rate=0.02, threads=1)  # fmt: skip
    tagger = Tagger(model, validation=0).fit(texts, labels)
    assert tagger.tag("planets and comets", k=1)[0].label == "sky"
    assert tagger.tag("dividends of the stock exchange", k=1)[0].label == "money"
    spoken = {each.text: each.weight for each in tagger.explain("a loan of the bank", "money")}
    assert max(spoken, key=spoken.get) in ("loan", "bank")


@pytest.mark.parametrize("name", ["xml-cnn", "xml-rnn"])
def test_clusters_sit_on_other_encoders_too(name, tmp_path):
    texts, labels = known_answer(400)
    settings = models.MODELS.find(name).example_settings(tmp_path)
    model = models.create(name, **settings, output="clusters", clusters=[0.3, 0.3, 0.4])
    tagger = Tagger(model).fit(texts, labels)
    assert tagger.model_.networks_[0].scorer.clusters == (4, 3, 5)
    assert tagger.evaluate(texts, labels)["P@1"] > 0.9
    tagger.save(tmp_path / "saved")
    assert Tagger.load(tmp_path / "saved").tag(texts[0]) == tagger.tag(texts[0])


@pytest.mark.parametrize("prior", ["frequency", "none"])
def test_clusters_have_a_bias_only_if_they_begin_with_a_frequency(prior, bert):
    model = models.create("aplc-xlnet", encoder=bert, clusters=[0.5, 0.5], prior=prior)
    network = model._network(Blueprint(np.array([4, 1, 0, 2]), 10), reader_of(bert))
    output = network.scorer.output
    layers = [output.head, *(tail.labels for tail in output.tails)]
    assert output.sizes == (2, 2)
    assert [layer.bias is None for layer in layers] == [prior == "none"] * 2
    if prior == "frequency":  # of the head: labels 0 and 3, and the gate
        wanted = np.array([4.5, 2.5, 10 * (1 - np.exp(-0.1)) + 0.5]) / 11
        np.testing.assert_allclose(output.head.bias.sigmoid().detach(), wanted, rtol=1e-5)


@pytest.mark.parametrize("special", [{"precision": "bf16"}, {"devices": 2}])
def test_clusters_learn_with_other_numbers_and_in_two_processes(special, tmp_path):
    texts, labels = known_answer(64)
    settings = models.MODELS.find("aplc-xlnet").example_settings(tmp_path)
    own = {"epochs": 2, "device": "cpu", "clusters": [0.3, 0.3, 0.4], **special}
    model = models.create("aplc-xlnet", **{**settings, **own})
    tagger = Tagger(model, validation=0).fit(texts, labels)
    losses = [event["loss"] for event in tagger.model_.history_]
    assert losses[-1] < losses[0]


def test_explanations_point_at_the_window_of_the_label(bert):
    texts, labels = known_answer(200)
    model = models.create(
        *("transformer",), encoder=bert, pooling="mean",
        **{**SMALL, "length": 34, "epochs": 8, "windows": 3},
    )  # fmt: skip
    tagger = Tagger(model, validation=0).fit(texts, labels)
    text = "noise1 " * 35 + "topic0a topic0b topic0c"
    heaviest = max(tagger.explain(text, "label 00"), key=lambda each: each.weight)
    assert heaviest.text.startswith("topic0")


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"encoder": "no/such/folder"}, "no such folder"),
        ({"length": 100}, r"length is 100, and .* reads 64 tokens at most"),
        ({"length": 2}, r"length is 2, and the tokenizer puts 2 tokens around a text"),
        ({"frozen": 9}, "frozen is 9, but the encoder has 2 layers"),
        ({"frozen": -2}, "frozen must be a whole number from -1"),
        ({"pooling": "max"}, "pooling must be 'auto' or 'first' or 'last' or 'mean', got 'max'"),
        ({"encoder_rate": 0}, "encoder_rate must be a number above 0"),
        ({"windows": 0}, "windows must be a whole number from 1"),
        ({"lora": 2, "frozen": 1}, "lora=2 and frozen=1"),
    ],
)
def test_wrong_settings_are_told(wrong, told, bert):
    settings = {**SMALL, "encoder": bert, **wrong}
    with pytest.raises(InputError, match=told):
        Tagger(models.create("transformer", **settings), validation=0).fit(UnreadTexts(), [["a"]])


@pytest.mark.parametrize("wrong", ["foo", 2, [], ["a", "b"], [0.5, 0.3], [1.5, -0.5]])
@pytest.mark.parametrize("name", ["aplc-xlnet", "xml-cnn"])
def test_wrong_clusters_are_told(name, wrong):
    with pytest.raises(InputError, match="clusters must be 'auto', or shares that sum to 1"):
        models.create(name, clusters=wrong)


def test_xlnet_does_not_compute_inner_values_again(tmp_path):
    model = models.create("aplc-xlnet", encoder=small_xlnet(tmp_path), checkpointing=True)
    with pytest.raises(InputError, match="leave checkpointing out"):
        model.check_needs()


def test_a_model_that_cannot_be_had_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match=r"no model 'xlnet/xlnet-base-cased'.*hf download"):
        Tagger("aplc-xlnet").fit(["a", "b"], [["x"], ["y"]])


def test_a_folder_without_the_tokenizers_files_is_refused(tmp_path):
    folder = tmp_path / "bare"
    folder.mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copy(minilm() / name, folder / name)
    with pytest.raises(InputError, match="files of the tokenizer are missing"):
        Tagger(models.create("transformer", encoder=str(folder))).fit(["a", "b"], [["x"], ["y"]])


def test_subwords_of_another_tokenizer_are_refused(bert, tmp_path):
    X = FEATURIZERS.create("subwords", tokenizer=small_xlnet(tmp_path)).fit_transform(["topic0a"])
    from scipy.sparse import csr_array

    model = models.create("transformer", encoder=bert, **SMALL)
    with pytest.raises(InputError, match=r"use the features 'subwords' with tokenizer="):
        model.fit(X, csr_array(np.ones((1, 1), np.float32)))
    with pytest.raises(InputError, match="reads subwords in their order"):
        model.fit(csr_array(np.ones((1, 3))), csr_array(np.ones((1, 1))))
