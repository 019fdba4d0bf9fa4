"""A network as an ONNX file: token numbers in, scores and probabilities of all labels out.

torch follows the network once, with batch and length open, and onnxscript translates what it saw.
Recurrent layers are named as one operation on the way: torch would unroll them, or make a loop.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from labelgrove.core.errors import ExportError
from labelgrove.core.extras import need
from labelgrove.models.neural.network import Network
from labelgrove.models.neural.readers.base import Batch, mask_of
from labelgrove.models.neural.readers.word_networks import BiLSTM
from labelgrove.models.neural.scorers.label_clusters import LabelClusters
from labelgrove.models.neural.scorers.pooled import PooledScorer
from labelgrove.text import UNK

OPSET = 20
EXTRA = "onnx"
INPUTS, OUTPUTS = ("tokens", "lengths"), ("scores", "probabilities")
ONE_FILE = 3 << 29  # bytes of weights from which on they get a file of their own; ONNX allows 2 GiB
LSTM = "labelgrove::lstm"

# only its name and shape are known to torch: it is never computed here
torch.library.define(
    LSTM, "(Tensor x, Tensor w, Tensor r, Tensor b, Tensor state, Tensor cell) -> Tensor"
)


@torch.library.register_fake(LSTM)  # type: ignore[untyped-decorator]
def _shape_of_lstm(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor, state: Tensor, cell: Tensor
) -> Tensor:
    return x.new_empty(x.shape[0], x.shape[1], state.shape[2])


class LabelProbabilities(nn.Module):
    """Networks, what stands in for them where a text has no known token, and calibration.

    Parameters
    ----------
    networks
        One, or several whose probabilities are averaged.
    shares
        Share of the training documents that have each label, shape (L,).
    reads_words
        Whether tokens are words of a vocabulary, among them an unknown one.
    x, y
        The knots of the calibration, shape (m,).
    """

    shares: Tensor

    def __init__(
        self,
        networks: Sequence[Network],
        shares: NDArray[np.float32],
        reads_words: bool,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
    ) -> None:
        super().__init__()
        self.networks, self.reads_words = nn.ModuleList(networks), reads_words
        self.register_buffer("shares", torch.from_numpy(np.array(shares, np.float32)))
        self.calibration = CalibrationCurve(x, y)

    def forward(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores and probabilities (b, L) of texts: tokens (b, T), lengths (b,)."""
        known = lengths > 0
        if self.reads_words:
            known = (mask_of(lengths, tokens.shape[1]) & (tokens > UNK)).any(1)
        batch = Batch(tokens, lengths.clamp(min=1))
        each = [_chances(network, batch) for network in self.networks]
        scores = each[0] if len(each) == 1 else torch.stack(each).mean(0)
        scores = torch.where(known[:, None], scores, self.shares)
        return scores, self.calibration(scores)


def _chances(network: nn.Module, batch: Batch) -> Tensor:
    """Return what a network ranks all labels by, shape (b, L)."""
    assert isinstance(network, Network)
    reading, scorer = network.reader(batch), network.scorer
    if isinstance(scorer, PooledScorer) and isinstance(scorer.output, LabelClusters):
        return scorer.output.probabilities(scorer.hidden(reading.pooled))
    return scorer.logits(reading, None, network.prior(batch)).float().sigmoid()


class CalibrationCurve(nn.Module):
    """A calibration, as `labelgrove.evaluation.Calibration.apply` computes it.

    Parameters
    ----------
    x, y
        Its knots, shape (m,).
    """

    x: Tensor
    y: Tensor

    def __init__(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
        super().__init__()
        self.register_buffer("x", torch.from_numpy(np.array(x, np.float64)))
        self.register_buffer("y", torch.from_numpy(np.array(y, np.float64)))
        self.edges = float(x[0]), float(x[-1])
        self.last = len(x) - 2  # the last knot that has one to its right

    def forward(self, scores: Tensor) -> Tensor:
        """Return the probabilities of scores, of the same shape."""
        if self.last < 0:
            return torch.zeros_like(scores) + self.y[0].float()
        values = scores.double().clamp(*self.edges)
        left = torch.zeros_like(scores, dtype=torch.int64)
        step = 1 << self.last.bit_length()
        while step := step >> 1:  # ONNX has no search in a sorted array
            there = left + step
            below = self.x[there.clamp(max=self.last)] <= values
            left = torch.where((there <= self.last) & below, there, left)
        right = left + 1
        low, high = self.y[left], self.y[right]
        part = (values - self.x[left]) / (self.x[right] - self.x[left])
        return torch.minimum(low + part * (high - low), high).float()


# --- recurrent layers as one operation ----------------------------------------------------------


class OnnxLstm(nn.Module):
    """A recurrent layer of one direction, with the weights in the order of ONNX.

    Parameters
    ----------
    layer
        Of a batch first, without layers above it.
    """

    w: Tensor
    r: Tensor
    b: Tensor

    def __init__(self, layer: nn.LSTM) -> None:
        super().__init__()
        biases = torch.cat([_reordered(layer.bias_ih_l0), _reordered(layer.bias_hh_l0)])
        self.register_buffer("w", _reordered(layer.weight_ih_l0)[None].contiguous())
        self.register_buffer("r", _reordered(layer.weight_hh_l0)[None].contiguous())
        self.register_buffer("b", biases[None].contiguous())

    def forward(self, x: Tensor, begins: tuple[Tensor, Tensor]) -> tuple[Tensor, None]:
        """Return what the layer gives for each word (b, T, units)."""
        read = torch.ops.labelgrove.lstm(x.transpose(0, 1), self.w, self.r, self.b, *begins)
        return read.transpose(0, 1), None


def _reordered(weights: Any) -> Tensor:
    """Return the weights of the four gates: input, output, forget, cell."""
    onward, forget, cell, out = weights.detach().chunk(4)
    return torch.cat([onward, out, forget, cell])


@contextmanager
def _named_layers(module: nn.Module) -> Iterator[None]:
    """Let recurrent layers be single operations, as long as this lasts."""
    kept = [(each, each.onward, each.back) for each in module.modules() if isinstance(each, BiLSTM)]
    try:
        for reader, onward, back in kept:
            reader.onward, reader.back = OnnxLstm(onward), OnnxLstm(back)  # type: ignore[assignment]
        yield
    finally:
        for reader, onward, back in kept:
            reader.onward, reader.back = onward, back


def _translated() -> dict[Any, Any]:
    """Return how what is ours becomes operations of ONNX."""
    operations = need("onnxscript", EXTRA, "exporting a network").opset20

    def lstm(x: Any, w: Any, r: Any, b: Any, state: Any, cell: Any) -> Any:
        found = operations.LSTM(x, w, r, b, None, state, cell, hidden_size=state.shape[2])
        return operations.Squeeze(found[0], [1])  # the direction

    return {torch.ops.labelgrove.lstm.default: lstm}


# --- the file -----------------------------------------------------------------------------------


def write_file(module: LabelProbabilities, file: Path) -> None:
    """Write networks as an ONNX file, with a file of weights beside it if these are large.

    Parameters
    ----------
    module
        The networks; they stay as they are.
    file
        The file, which ends with ``.onnx``.
    """
    need("onnx", EXTRA, "exporting a network")
    table = _translated()
    was = [(each, each.requires_grad) for each in module.parameters()]
    example = (torch.full((3, 9), UNK + 1), torch.tensor([9, 5, 7]))
    shapes = ({0: "batch", 1: "tokens"}, {0: "batch"})
    try:
        module.eval().requires_grad_(requires_grad=False)
        with _named_layers(module), _silence():
            made = torch.onnx.export(
                module,
                example,
                input_names=INPUTS,
                output_names=OUTPUTS,
                dynamic_shapes=shapes,
                opset_version=OPSET,
                custom_translation_table=table,
                dynamo=True,
                verbose=False,
            )
        assert made is not None
        made.save(file, external_data=_size(module) > ONE_FILE)
    except torch.onnx.OnnxExporterError as error:
        lines = [line for line in str(error.__cause__ or error).splitlines() if line.strip()]
        raise ExportError(
            f"torch {torch.__version__} cannot export this network: {lines[0]:.300}"
        ) from error
    finally:
        for parameter, learns in was:
            parameter.requires_grad_(learns)


def _size(module: nn.Module) -> int:
    return sum(each.numel() * each.element_size() for each in module.state_dict().values())


@contextmanager
def _silence() -> Iterator[None]:
    """Keep back what the libraries say of each other."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
