"""Small static vectors for the words of the contract's texts, as model2vec saves them.

For checks and tests on machines where no pretrained vectors can be had.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer, models, pre_tokenizers

from labelgrove.core.random import generator
from labelgrove.models.contract import N_LABELS, known_answer

SIZE = 48
NOISE = 0.2  # length of what words of one topic do not share


def small_static(folder: Path) -> str:
    """Make vectors in a folder below, unless they are there; return ``static:`` and the folder.

    Words of one topic are alike, words without meaning are short.
    """
    made = folder / "static-vectors"
    if not (made / "model.safetensors").exists():
        words = sorted({word for text in known_answer(500)[0] for word in text.split()})
        tokenizer = Tokenizer(
            models.WordLevel({"[UNK]": 0} | {w: i + 1 for i, w in enumerate(words)}, "[UNK]")
        )
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        random = generator(0, "small static vectors")
        vectors = random.normal(0, NOISE / SIZE**0.5, (len(words) + 1, SIZE))
        for label in range(N_LABELS):
            own = [i + 1 for i, word in enumerate(words) if word[:-1] == f"topic{label}"]
            vectors[own, label] += 1.0
        StaticModel(vectors.astype(np.float32), tokenizer).save_pretrained(made)
    return f"static:{made}"
