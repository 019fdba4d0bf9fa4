"""Small random encoders with tokenizers of their own, as Hugging Face saves them.

For checks and tests on machines where no pretrained model can be had.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import AutoModel, BertConfig, PreTrainedTokenizerFast, XLNetConfig

from labelgrove.models.contract import known_answer

SIZE = 32


def small_bert(folder: Path) -> str:
    """Make a BERT of two layers in a folder below, unless it is there; return the folder."""
    pieces = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    pieces.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False)
    pieces.train_from_iterator(known_answer(500)[0], trainer)
    pieces.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    config = BertConfig(
        vocab_size=pieces.get_vocab_size(),
        hidden_size=SIZE,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=2 * SIZE,
        max_position_embeddings=64,
    )
    return _saved(folder / "bert", pieces, special, config)


def small_xlnet(folder: Path) -> str:
    """Make an XLNet of two layers in a folder below, unless it is there; return the folder."""
    pieces = Tokenizer(models.Unigram())
    special = ["<pad>", "<unk>", "<cls>", "<sep>"]
    pieces.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    pieces.train_from_iterator(known_answer(500)[0], trainer)
    pieces.post_processor = processors.TemplateProcessing(
        single="$A:0 <sep>:0 <cls>:2", special_tokens=[("<cls>", 2), ("<sep>", 3)]
    )
    config = XLNetConfig(
        vocab_size=pieces.get_vocab_size(), d_model=SIZE, n_layer=2, n_head=2, d_inner=2 * SIZE
    )
    return _saved(folder / "xlnet", pieces, special, config)


def _saved(folder: Path, pieces: Tokenizer, special: list[str], config: Any) -> str:
    """Save a tokenizer and a model with random weights, always the same."""
    if not (folder / "model.safetensors").exists():
        pad, unknown, cls, sep = special
        PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
            tokenizer_object=pieces, pad_token=pad, unk_token=unknown, cls_token=cls, sep_token=sep
        ).save_pretrained(folder)
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = AutoModel.from_config(config)  # type: ignore[no-untyped-call]
            model.save_pretrained(folder)
    return str(folder)
