"""Parts of neural models in other combinations than the papers' keep the contract too."""

import shutil
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from contract_cases import FEW, Few
from labelgrove import Tagger, models
from labelgrove.core.errors import InputError
from labelgrove.models.contract import CHECKS, Case, known_answer
from labelgrove.models.neural.examples import small_bert
from labelgrove.text.static_vectors import load_static
from tokenizer_folders import minilm

POTION = Path(__file__).parents[3] / "shared" / "data" / "potion-base-8m"
FIRST = {"first": "bonsai", "candidates": 8, "folds": 2}
COMBINATIONS = {
    # without what only the model's own reader has, with what the other one needs
    "attentionxml on MiniLM behind bonsai": (
        "attentionxml",
        ("units", "vector_size", "dropout"),
        {"encoder": str(minilm()), "length": 48, "frozen": 5, "epochs": 2, **FIRST},
    ),
    "attentionxml down a tree on a transformer": (
        "attentionxml",
        ("units", "vector_size", "dropout"),
        {
            **{"encoder": "bert", "length": 48, "encoder_rate": 0.005, "epochs": 20},
            **{"tree": "always", "max_leaf": 3, "parents": 4},
        },
    ),
    "aplc-xlnet on words": (
        "aplc-xlnet",
        ("pooling", "encoder_rate", "hidden_rate"),
        {"encoder": "words", "vector_size": 24, "units": 24, "epochs": 12},
    ),
    "treaderxml behind bonsai": ("treaderxml", (), {"epochs": 4, **FIRST}),
    "transformer behind bonsai": ("transformer", (), {"epochs": 2, **FIRST}),
    "xml-rnn on static vectors": ("xml-rnn", ("vector_size",), {"encoder": "static"}),
    "laco on words": (
        "laco",
        ("encoder_rate", "hidden_rate", "layer_decay"),
        {"encoder": "words", "vector_size": 24, "units": 24, "joint": False, "epochs": 25},
    ),
}
SLOW = ("attentionxml on MiniLM behind bonsai",)  # has few documents in all checks


def made(settings, folder):
    """Return the encoder of settings that name a small one, which is made on the spot."""
    if settings.get("encoder") == "bert":
        return {"encoder": small_bert(folder)}
    if settings.get("encoder") == "static":
        return {"encoder": f"static:{small_static(folder)}"}
    return {}


def small_static(folder, kind=torch.float32, **more):
    """Make static vectors for the subwords of a small BERT, as model2vec saves them."""
    tokenizer, static = Path(small_bert(folder)), folder / "static"
    if not static.exists():
        shutil.copytree(tokenizer, static, ignore=shutil.ignore_patterns("*.safetensors"))
        random = torch.Generator().manual_seed(0)
        size = Tokenizer.from_file(str(static / "tokenizer.json")).get_vocab_size()
        vectors = torch.randn(size, 24, generator=random).to(kind)
        more = {name: make(size) for name, make in more.items()}
        save_file({"embeddings": vectors, **more}, static / "model.safetensors")
    return static


def combined(title):
    name, without, others = COMBINATIONS[title]

    @cache
    def settings(folder):
        own = models.MODELS.find(name).example_settings(folder)
        own = {k: v for k, v in own.items() if k not in without} | others
        return own | made(own, folder)

    return lambda folder: models.create(name, **deepcopy(settings(folder)))


@pytest.fixture(scope="module", params=COMBINATIONS)
def cases(request, tmp_path_factory):
    """Two for all checks of a combination, which is then fitted once."""
    make = combined(request.param)
    kinds = {Case: Few if request.param in SLOW else Case, Few: Few}
    return {kind: own(make, tmp_path_factory.mktemp("case")) for kind, own in kinds.items()}


@pytest.mark.parametrize("check", CHECKS)
def test_combinations_keep_the_contract(cases, check):
    CHECKS[check](cases[Few if check in FEW else Case])


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("attentionxml", {"encoder": "bert", "units": 8}, "units=8 has no effect with encoder='be"),
        ("attentionxml", {"pooling": "mean"}, "pooling='mean' has no effect with encoder='words'"),
        ("attentionxml", {"first": "attentionxml"}, "is this model itself"),
        ("attentionxml", {"first": "bonsai", "tree": "always"}, "names the labels that are judged"),
        ("lightattention", {"first": "bonsai", "sampler": "all"}, "names the labels that are jud"),
        ("xml-rnn", {"first": "bonsai", "output": "clusters"}, "has no effect with clusters"),
        ("xml-cnn", {"first": "bonsai", "output": "clusters"}, "has no effect with clusters"),
        ("laco", {"encoder": "words"}, "only a transformer can: set joint=false"),
        ("seqtag", {"encoder": "static:here"}, "which seqtag needs"),
        ("treaderxml", {"first": "bonsai", "output": "clusters"}, "has no effect with clusters"),
        ("transformer", {"prior": "votes"}, "prior must be 'frequency' or 'none', got 'votes'"),
        ("transformer", {"first": "bonzai"}, "unknown model 'bonzai'; did you mean 'bonsai'"),
        ("transformer", {"first": "bonzai"}, "'none' for no first stage"),
        ("transformer", {"encoder": "Words"}, "encoder must be 'words', a folder or a name on"),
        ("transformer", {"encoder": ""}, "encoder must be 'words', a folder or a name on"),
        ("treaderxml", {"by": "encoder"}, "give encoder= (knn) or neighbour_encoder= (treaderxml)"),
        ("transformer", {"encoder": "static:nowhere"}, "no static vectors 'nowhere': it is nei"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(name, settings, message):
    with pytest.raises(InputError) as caught:
        models.create(name, **settings).check_needs()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


SMALL = {"epochs": 1, "batch": 16, "threads": 1, "device": "cpu"}
BERT = {"encoder": "bert", "length": 10}
OTHERS = {
    "updates of low rank down a tree": ("attentionxml", {**BERT, "lora": 2, "tree": "always",
                                                         "max_leaf": 3, "layers": [8]}),
    "windows down a tree": ("attentionxml", {**BERT, "windows": 2, "tree": "always",
                                             "max_leaf": 3, "layers": [8]}),
    "windows behind a first stage": ("transformer", {**BERT, "windows": 2, **FIRST}),
    "an ensemble behind a first stage": ("attentionxml", {"units": 8, "layers": [8], "ensemble": 2,
                                                          "vector_size": 8, **FIRST}),
    "a generator on static vectors": ("lightattention", {"encoder": "static", "units": 8,
                                                         "layers": [8], "max_leaf": 3}),
    "a generator and windows": ("lightxml", {**BERT, "windows": 2, "together": 0, "max_leaf": 3,
                                             "candidates": 6, "bottleneck": 8}),
    "layers side by side behind a first stage": ("lightxml", {**BERT, "bottleneck": 8, **FIRST}),
    "vectors of windows beside tf-idf": ("xr-transformer", {**BERT, "windows": 2, "max_leaf": 3,
                                                            "lora": 2}),
    "a teacher on a transformer": ("treaderxml", {**BERT, "bottleneck": 8, "heads": 2}),
    "a transformer instead of convolutions": ("xml-cnn", {**BERT, "bottleneck": 8}),
    "aplc-xlnet behind a first stage": ("aplc-xlnet", {"encoder": "words", "units": 8, "hidden": 8,
                                        "vector_size": 8, **FIRST}),
    "names of labels on a transformer behind a first stage": (
        "lsan", {**BERT, "layers": [8], "attention": 4, **FIRST}),
    "words like labels on static vectors behind a first stage": (
        "leam", {"encoder": "static", "hidden": 8, **FIRST}),
    "rounds on a transformer": ("ml-reasoner", {**BERT, "bottleneck": 8, "label_size": 4}),
    "label clusters on static vectors": ("aplc-xlnet", {"encoder": "static", "units": 8,
                                                        "hidden": 8}),
}  # fmt: skip


@pytest.mark.parametrize("title", OTHERS)
def test_others_train_tag_explain_and_train_again_once_they_were_saved(title, tmp_path):
    name, settings = OTHERS[title]
    texts, labels = known_answer(60)
    settings = {**SMALL, **settings}
    tagger = Tagger(models.create(name, **settings | made(settings, tmp_path))).fit(texts, labels)
    tagger.save(tmp_path / "tagger")
    loaded = Tagger.load(tmp_path / "tagger")
    before, after = tagger.tag(texts[:9], k=12), loaded.tag(texts[:9], k=12)
    assert before == after
    assert len(tagger.explain(texts[0], before[0][0].label))
    again = Tagger(loaded.model_.fresh()).fit(texts, labels)
    assert again.tag(texts[:9], k=12) == before


@pytest.mark.parametrize("name", ["attentionxml", "xml-rnn", "treaderxml"])
def test_a_first_stage_that_names_nothing(name):
    texts, labels = known_answer(60)
    labels = [[f"topic{int(label[-2:])}a" for label in own] for own in labels]  # as in the texts
    bare = ["nothing here"] * 40  # more than a batch of which label-match names no label
    settings = {"vector_size": 8, "first": "label-match", "candidates": 4}
    tagger = Tagger(models.create(name, **SMALL, **settings))
    tagger.fit(texts + bare, labels + [[]] * 40)
    assert np.isfinite([tag.score for tag in tagger.tag(texts[0], k=3)]).all()


def test_behind_a_first_stage_a_network_starts_as_good():
    texts, labels = known_answer(200)
    first = Tagger("bonsai", validation=0).fit(texts, labels)
    settings = {**SMALL, "vector_size": 8, "learning_rate": 1e-9, **FIRST}
    for name in ("attentionxml", "xml-rnn", "xml-cnn", "treaderxml", "lsan", "leam"):
        behind = Tagger(models.create(name, **settings), validation=0).fit(texts, labels)
        for text in texts[:20]:
            wanted, reached = first.tag(text, k=3), behind.tag(text, k=3)
            assert [tag.label for tag in reached] == [tag.label for tag in wanted]


def test_static_vectors_of_any_precision_with_mapping_and_weights(tmp_path):
    more = {
        "mapping": lambda size: torch.arange(size).flip(0),
        "weights": lambda size: torch.full((size,), 2.0),
    }
    static = load_static(str(small_static(tmp_path, torch.float16, **more)))
    assert static.vectors.dtype == np.float16
    assert static.shape == static.table().shape == (len(static.vectors), 24)
    plain = load_static(str(small_static(tmp_path / "plain", torch.float16))).table()
    assert np.array_equal(static.table(), 2 * plain[::-1])


@pytest.mark.skipif(not POTION.is_dir(), reason="needs the vectors of potion-base-8M")
def test_static_vectors_as_they_are_given_out():
    texts, labels = known_answer(60)
    settings = {**SMALL, "encoder": f"static:{POTION}", "units": 8, "train_vectors": False}
    tagger = Tagger(models.create("xml-rnn", **settings)).fit(texts, labels)
    assert len(tagger.tag(texts[0], k=3)) == 3
