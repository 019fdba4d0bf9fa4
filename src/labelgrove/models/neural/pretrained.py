"""What the models with a pretrained transformer share: they differ by what stands behind it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from labelgrove.core.errors import InputError
from labelgrove.core.extras import need
from labelgrove.core.features import Features, TokenSequences
from labelgrove.core.progress import Progress
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation, FitContext, ViewSpec
from labelgrove.models.neural.classifier import NeuralClassifier, fit_network, limited_threads
from labelgrove.models.neural.objectives import PooledLabels, ranked
from labelgrove.models.neural.parts import pretrained
from labelgrove.models.neural.parts.cluster_sizes import weights_of
from labelgrove.models.neural.parts.label_clusters import new_output
from labelgrove.models.neural.parts.pooled import PooledNetwork, bottleneck
from labelgrove.models.neural.parts.pretrained import PretrainedReader
from labelgrove.models.neural.training.batches import padded
from labelgrove.models.neural.training.estimate import Size
from labelgrove.models.neural.training.loop import device_of
from labelgrove.models.neural.training.settings import PretrainedTraining, Training
from labelgrove.models.neural.training.windows import Windows
from labelgrove.text.pretrained import Specials, load_tokenizer, specials_of

STEPS = 16  # on the way from no text to a text, in explanations


class PretrainedClassifier(NeuralClassifier):
    """A transformer reads subwords; a layer behind it and an output layer are new.

    Attributes
    ----------
    config_
        The transformer's sizes and kind, as JSON.
    specials_
        What its tokenizer puts around a text, as JSON.
    pooling_
        Which of its vectors stands for a text.
    clusters_
        Labels in each cluster of the output layer; none if it is linear.
    """

    shared: ClassVar[type[Training]] = PretrainedTraining
    reads: ClassVar[str] = "subwords"
    saves_memory: ClassVar[str] = (
        "lower batch or length, set checkpointing=true, frozen or lora, or choose a smaller encoder"
    )
    default_encoder: ClassVar[str] = ""

    encoder: str
    pooling: Literal["auto", "first", "last", "mean"]
    length: int
    windows: int
    checkpointing: bool
    frozen: int
    lora: int
    hidden: int
    dropout: float
    decay: float = 2.0
    gate_loss: bool = True
    config_: str
    specials_: dict[str, Any]
    pooling_: Literal["first", "last", "mean"]
    clusters_: list[int]

    def views(self) -> dict[str, ViewSpec]:
        """Return the one view: subwords of the encoder's own tokenizer."""
        # one token more than can be read, to know what was cut
        settings = {"tokenizer": self._name, "length": self.length * self.windows + 1}
        return {"text": ViewSpec("subwords", settings)}

    @property
    def _name(self) -> str:
        return self.encoder or self.default_encoder

    def check_settings(self) -> None:
        """Refuse values out of range, and low-rank updates of frozen layers."""
        super().check_settings()
        if self.lora and self.frozen:
            raise InputError(
                f"lora={self.lora} and frozen={self.frozen}: low-rank updates leave all of the "
                "encoder as it is, so set one of them to 0"
            )

    def check_needs(self) -> None:
        """Refuse an encoder that cannot be had, or cannot do what the settings ask of it."""
        super().check_needs()
        if self.lora:
            need("peft", "lora", "low-rank updates (lora)")
        encoder = pretrained.skeleton(self._name)
        specials = specials_of(load_tokenizer(self._name))
        self._windows(specials)
        self._check(encoder, specials, specials.n_terms)
        pretrained.freeze(encoder, self.frozen)
        if self.checkpointing:
            pretrained.checkpointed(encoder)

    # --- what a model decides -----------------------------------------------------------------

    @abstractmethod
    def _clusters(self, counts: NDArray[np.int64], n_inputs: int, n_documents: int) -> list[int]:
        """Return the labels in each cluster of the output layer; none if it is linear."""

    # --- texts --------------------------------------------------------------------------------

    def _readable(self, X: TokenSequences) -> NDArray[np.bool_]:
        return X.lengths > 0

    def _look(self, X: TokenSequences, progress: Progress) -> None:
        specials = specials_of(load_tokenizer(self._name))
        self.specials_, self.pooling_ = specials.as_json(), self._pooling(specials)
        windows = self._windows(specials)
        read = windows.size * windows.most
        if cut := int((X.lengths > read).sum()):
            progress.say(
                f"{cut:,} documents ({cut / len(X):.1%}) have more than {read:,} tokens (length x "
                "windows, less those around a text): what follows is not read"
            )

    def _pooling(self, specials: Specials) -> pretrained.Pooling:
        found = self.pooling
        return pretrained.pooling_for(self._name, specials) if found == "auto" else found

    def _belongs(self) -> dict[str, Any]:
        return {**super()._belongs(), "pooling of the encoder": self.pooling_}

    def _windows(self, specials: Specials) -> Windows:
        """Return what is read of a text at once, and how often."""
        room = self.length - len(specials.before) - len(specials.behind)
        if room < 1:
            raise InputError(
                f"length is {self.length}, and the tokenizer puts "
                f"{self.length - room} tokens around a text: give more"
            )
        return Windows(room, self.windows)

    # --- learning -----------------------------------------------------------------------------

    def _learn(
        self,
        X: TokenSequences,
        Y: csr_array,
        validation: tuple[TokenSequences, csr_array] | None,
        context: FitContext,
    ) -> None:
        encoder, specials = pretrained.load_encoder(self._name), Specials.from_json(self.specials_)
        self._check(encoder, specials, X.n_terms)
        self.config_ = pretrained.config_of(encoder)
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        size = self.hidden or pretrained.width_of(encoder)
        self.clusters_ = self._clusters(counts, size, len(X))
        pretrained.freeze(encoder, self.frozen)
        if self.lora:
            encoder = pretrained.with_updates(encoder, self.lora)
        if self.checkpointing:
            pretrained.checkpointed(encoder)
        network = self._built(encoder, counts)
        objective = PooledLabels(X, Y, validation, self.training, self._windows(specials))
        self.history_ = fit_network(network, objective, self, context)
        if self.lora:
            pretrained.merged(encoder)
        self.networks_ = [network.cpu()]

    def _check(self, encoder: nn.Module, specials: Specials, n_terms: int) -> None:
        """Refuse what the transformer cannot read."""
        pretrained.width_of(encoder)
        rows = encoder.get_input_embeddings().num_embeddings  # type: ignore[operator]
        if n_terms != specials.n_terms:
            raise InputError(
                f"X has {n_terms:,} subwords, and the tokenizer of {self._name} knows "
                f"{specials.n_terms:,}: use the features 'subwords' with tokenizer={self._name!r}"
            )
        # a model may have rows to spare; a tokenizer without its files knows a handful of tokens
        if not rows / 2 <= specials.n_terms <= rows:
            raise InputError(
                f"the tokenizer of {self._name} knows {specials.n_terms:,} tokens, its model "
                f"{rows:,}: they do not belong together, or files of the tokenizer are missing"
            )
        most = pretrained.longest_input(encoder)
        if most is not None and self.length > most:
            raise InputError(
                f"length is {self.length:,}, and {self._name} reads {most:,} tokens at most: "
                "lower it, and read more of long texts with windows"
            )

    def _built(self, encoder: nn.Module, counts: NDArray[np.int64]) -> PooledNetwork:
        specials = Specials.from_json(self.specials_)
        reader = PretrainedReader(encoder, specials, self.pooling_)
        size = self.hidden or reader.n_outputs
        between: nn.Module = nn.Dropout(self.dropout)
        if self.hidden:
            between = bottleneck(reader.n_outputs, size, nn.Tanh(), self.dropout)
        output = new_output(size, counts, self.clusters_, self.decay, self.gate_loss)
        return PooledNetwork(reader, between, output)

    def _network(self, number: int) -> nn.Module:
        encoder = pretrained.from_config(self.config_)
        return self._built(encoder, np.zeros(self.n_labels_, np.int64))

    # --- what it takes ------------------------------------------------------------------------

    def _sizes(self, X: TokenSequences, counts: NDArray[np.int64]) -> list[Size]:
        encoder = pretrained.skeleton(self._name)
        config: Any = encoder.config
        width, layers = int(config.hidden_size), int(config.num_hidden_layers)
        heads = int(getattr(config, "num_attention_heads", 1))
        longest = min(int(X.lengths.max(initial=1)), self.length)
        hidden = self.hidden or width
        clusters = self._clusters(counts, hidden, len(X))
        weights = sum(each.numel() for each in encoder.parameters()) + width * self.hidden
        weights += weights_of(hidden, len(counts), clusters, self.decay)
        pretrained.freeze(encoder, self.frozen)
        frozen = sum(each.numel() for each in encoder.parameters() if not each.requires_grad)
        if self.lora:
            frozen = sum(each.numel() for each in encoder.parameters())
        # a layer that is gone back through keeps about 16 vectors of a token, and its attention
        layers = 0 if self.frozen < 0 else layers - self.frozen
        kept = 2 * width
        if not self.checkpointing:
            kept += layers * (16 * width + heads * longest)
        return [Size(weights, self.batch * (longest * kept + 3 * len(counts)), frozen)]

    # --- ranking ------------------------------------------------------------------------------

    def _rank_tokens(self, X: TokenSequences, k: int) -> Ranking:
        windows = self._windows(Specials.from_json(self.specials_))
        return ranked(self._trained, X, k, self.batch, windows)

    @property
    def _trained(self) -> PooledNetwork:
        network = self.networks_[0]
        assert isinstance(network, PooledNetwork)
        return network

    def explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return how much each subword adds to the label's log odds; see `path_gradients`.

        Of a text in several windows that in which the label is likeliest is explained.
        """
        self.check_fitted()
        tokens = self._tokens(X, self.n_terms_)
        if not 0 <= i < len(tokens):
            raise InputError(f"row {i} of X, which has {len(tokens):,} rows")
        if not 0 <= label < self.n_labels_:
            raise InputError(f"label {label} of a model that knows {self.n_labels_:,} labels")
        if not len(tokens.sequence(i)):
            return Explanation(np.empty(0, np.int64), np.empty(0, np.float32))
        device, network = device_of(self.device), self._trained
        network.to(device).eval().requires_grad_(requires_grad=False)
        reader = network.reader
        assert isinstance(reader, PretrainedReader)
        windows = self._windows(reader.specials)
        pieces, _ = windows.split(tokens[i : i + 1])
        best, place, found = -np.inf, 0, np.empty(0, np.float32)
        with limited_threads(self.threads):
            for number in range(len(pieces)):
                ids, lengths = (each.to(device) for each in padded(pieces, np.array([number])))
                weights, odds = path_gradients(network, reader, ids, lengths, label)
                if odds > best:
                    best, place, found = odds, number * windows.size, weights
        return Explanation(np.arange(place, place + len(found)), found)


def path_gradients(
    network: PooledNetwork, reader: PretrainedReader, tokens: Tensor, lengths: Tensor, label: int
) -> tuple[NDArray[np.float32], float]:
    """Return what each token adds to a label's log odds, and these odds.

    Integrated gradients (Sundararajan, Taly and Yan, ICML 2017): on the way from a text of padding
    to this one, since at its end, where the label is certain, hardly anything makes a difference.

    Parameters
    ----------
    network, reader
        Of the text.
    tokens, lengths
        Shapes (1, T) and (1,).
    label
        Which one.

    Returns
    -------
    weights, odds
        Shape (T,), and a number.
    """
    ids, types = reader.framed(tokens, lengths)
    first, n = len(reader.specials.before), int(lengths[0])
    own = torch.zeros_like(ids, dtype=torch.bool)
    own[:, first : first + n] = True
    begin = reader.embedded(ids.masked_fill(own, reader.specials.pad)).detach()
    end = reader.embedded(ids).detach()
    share = (torch.arange(STEPS, device=ids.device) + 0.5) / STEPS
    way = (begin + share[:, None, None] * (end - begin)).requires_grad_()
    odds = _log_odds(network, reader, way, types, lengths, label)
    (gradient,) = torch.autograd.grad(odds.sum(), way)
    weights = ((end - begin)[0] * gradient.mean(0)).sum(1)[first : first + n]
    with torch.no_grad():
        reached = float(_log_odds(network, reader, end, types, lengths, label)[0])
    return weights.cpu().numpy().astype(np.float32), reached


def _log_odds(
    network: PooledNetwork,
    reader: PretrainedReader,
    vectors: Tensor,
    types: Tensor,
    lengths: Tensor,
    label: int,
) -> Tensor:
    """Return a label's log odds for vectors (s, T', d) of tokens, shape (s,)."""
    n = len(vectors)
    read = reader.read({"inputs_embeds": vectors}, types.expand(n, -1), lengths.expand(n))
    chance = network.output.log_probability(network.between(read), label)
    return chance - torch.log1p(-chance.exp().clamp(max=1 - 1e-6))
