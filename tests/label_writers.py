"""Writers of labels with random weights, small enough to look at every sequence."""

import numpy as np
import torch

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers.base import Positives
from labelgrove.models.neural.scorers.decoders import LstmDecoder, TransformerDecoder
from labelgrove.models.neural.scorers.label_writer import LabelWriter

START = LabelStart(np.array([5, 9, 2]), 12, "frequency")  # label 1 is the most frequent
END = 3
SIZE = 8


def reading(texts=2):
    torch.manual_seed(1)
    vectors, mask = torch.randn(texts, 4, 6), torch.ones(texts, 4, dtype=torch.bool)
    mask[0, 2:] = False
    return Reading(vectors, mask, lambda: (vectors * mask[:, :, None]).sum(1))


def writer(kind="lstm", mixes=False, seed=2):
    torch.manual_seed(seed)
    if kind == "lstm":
        decoder = LstmDecoder(6, 6, SIZE, SIZE, layers=2)
    else:
        decoder = TransformerDecoder(6, SIZE, 2, most=3)
    found = LabelWriter(decoder, START, SIZE, mixes=mixes).eval()
    with torch.no_grad():
        found.output.weight.mul_(5)
    return found.requires_grad_(False)


def truth(*labels):
    pairs = [(row, label) for row, own in enumerate(labels) for label in own]
    return Positives(*(torch.tensor([pair[i] for pair in pairs]).long() for i in (0, 1)))
