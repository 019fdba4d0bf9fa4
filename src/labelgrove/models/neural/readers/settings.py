"""The settings of readers, which every neural model has: any reader can stand in any model."""

from __future__ import annotations

from typing import Literal

from labelgrove.core.configured import Configured
from labelgrove.core.ranges import Real, Whole
from labelgrove.core.settings import setting, sizes

TABLES = ("words", "static")  # readers that begin with a table of vectors
TRANSFORMER = ("transformer",)


class ReaderSettings(Configured):
    """What reads the texts."""

    encoder: str = setting(
        "words",
        "What reads the text: words (word vectors, and the network that the model has for them), a "
        "pretrained transformer (a folder, or a name on the Hugging Face hub), or static:FOLDER "
        "for static vectors of model2vec.",
    )
    length: int = setting(
        500,
        "Words that are read of a text; of a transformer tokens that are read at once, those that "
        "its tokenizer puts around the text included.",
        least=1,
    )
    vectors: str = setting(
        "corpus",
        "Where word vectors begin: corpus (trained on the texts before the network is), random, or "
        "a file of GloVe or word2vec.",
        only=("words",),
    )
    vector_size: int = setting(
        0, "Size of a word vector; 0 for that of the file, or 300.", least=0, only=("words",)
    )
    train_vectors: bool = setting(True, "Train the word or static vectors too.", only=TABLES)
    vector_dropout: float = setting(
        0.2, "Dropout on word or static vectors.", least=0, below=1, only=TABLES,
        search=Real(0.0, 0.5),
    )  # fmt: skip
    pooling: Literal["auto", "first", "last", "mean"] = setting(
        "auto",
        "Which vector of a transformer stands for the text: the first, the last, the mean of all; "
        "auto for that of the token which its tokenizer puts there for the purpose.",
        only=TRANSFORMER,
    )
    windows: int = setting(
        1,
        "Windows of a long text that a transformer reads; a label has its largest probability of "
        "them. In training one window of each text is drawn at each step.",
        least=1,
        only=TRANSFORMER,
    )
    checkpointing: bool = setting(
        False,
        "Compute inner values of a transformer again instead of keeping them: less memory, a third "
        "more time.",
        only=TRANSFORMER,
    )
    frozen: int = setting(
        0,
        "Lowest layers of a transformer that do not learn, with what is below them; -1 for all.",
        least=-1,
        only=TRANSFORMER,
    )
    lora: int = setting(
        0,
        "Rank of low-rank updates to the linear layers of a transformer, which then learn instead "
        "of the layers; 0 for none. The attention of XLNet is not among these layers.",
        least=0,
        only=TRANSFORMER,
    )


UNITS = setting(
    256,
    "Units of the recurrent layer that reads words, in each direction.",
    least=1,
    only=TABLES,
    search=Whole(64, 512, log=True),
)

# of convolutions whose largest values are taken in several parts of a text
WIDTHS = setting((2, 4, 8), "Words that a filter spans.", rule=sizes([2, 4, 8]), only=TABLES)
FILTERS = setting(
    128, "Filters of each width.", least=1, only=TABLES, search=Whole(32, 256, log=True)
)
PARTS = setting(
    8,
    "Parts of the text of which each filter gives its largest value.",
    least=1,
    only=TABLES,
    search=Whole(2, 16, log=True),
)
