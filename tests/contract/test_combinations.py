"""Parts of neural models in other combinations than the papers' keep the contract too."""

from copy import deepcopy
from functools import cache
from pathlib import Path

import pytest

from contract_cases import FEW, Few
from labelgrove import models
from labelgrove.core.errors import InputError
from labelgrove.models.contract import CHECKS, Case
from labelgrove.models.neural.examples import small_bert
from tokenizer_folders import minilm

STATIC = Path(__file__).parents[3] / "shared" / "data" / "potion-base-8m"
TRANSFORMER = {"length": 48, "encoder_rate": 0.01}
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
        {"encoder": "bert", **TRANSFORMER, "tree": "always", "max_leaf": 3, "parents": 4},
    ),
    "aplc-xlnet on words": (
        "aplc-xlnet",
        ("pooling", "encoder_rate", "hidden_rate"),
        {"encoder": "words", "vector_size": 24, "units": 24, "epochs": 12},
    ),
    "treaderxml with votes": ("treaderxml", (), {"prior": "votes", "by": "tf-idf"}),
    "transformer behind bonsai": ("transformer", (), {"epochs": 2, **FIRST}),
    "laco on words": (
        "laco",
        ("encoder_rate", "hidden_rate", "layer_decay"),
        {"encoder": "words", "vector_size": 24, "units": 24, "joint": False, "epochs": 25},
    ),
}
SLOW = ("attentionxml on MiniLM behind bonsai",)  # has few documents in all checks
if STATIC.is_dir():
    COMBINATIONS["xml-rnn on static vectors"] = (
        "xml-rnn",
        ("vector_size",),
        {"encoder": f"static:{STATIC}", "epochs": 15},
    )


def combined(title):
    name, without, others = COMBINATIONS[title]

    @cache
    def settings(folder):
        own = models.MODELS.find(name).example_settings(folder)
        own = {k: v for k, v in own.items() if k not in without} | others
        return own | ({"encoder": small_bert(folder)} if own.get("encoder") == "bert" else {})

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
        ("aplc-xlnet", {"first": "bonsai"}, "has no effect with clusters"),
        ("xml-rnn", {"first": "bonsai", "output": "clusters"}, "has no effect with clusters"),
        ("xml-cnn", {"first": "bonsai", "output": "clusters"}, "has no effect with clusters"),
        ("laco", {"encoder": "words"}, "only a transformer can: set joint=false"),
        ("seqtag", {"encoder": "static:here"}, "which seqtag needs"),
        ("treaderxml", {"first": "bonsai", "prior": "votes"}, "start from one of them"),
        ("treaderxml", {"output": "clusters", "prior": "votes"}, "output='clusters' cannot add"),
        ("transformer", {"prior": "votes"}, "prior must be 'frequency' or 'none', got 'votes'"),
        ("transformer", {"first": "bonzai"}, "unknown model 'bonzai'; did you mean 'bonsai'"),
        ("transformer", {"encoder": "static:nowhere"}, "nowhere/model.safetensors does not exist"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(name, settings, message):
    with pytest.raises(InputError) as caught:
        models.create(name, **settings).check_needs()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
