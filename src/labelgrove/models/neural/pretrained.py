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
from labelgrove.core.features import Features, TokenSequences
from labelgrove.core.progress import Progress
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation, FitContext, ViewSpec
from labelgrove.models.neural.classifier import NeuralClassifier, fit_network
from labelgrove.models.neural.objectives import PooledLabels, as_ranking
from labelgrove.models.neural.parts import pretrained
from labelgrove.models.neural.parts.cluster_sizes import weights_of
from labelgrove.models.neural.parts.label_clusters import new_output
from labelgrove.models.neural.parts.pooled import PooledNetwork, bottleneck
from labelgrove.models.neural.parts.pretrained import PretrainedReader
from labelgrove.models.neural.training.batches import padded
from labelgrove.models.neural.training.estimate import Size
from labelgrove.models.neural.training.loop import device_of
from labelgrove.models.neural.training.settings import PretrainedTraining, Training
from labelgrove.models.neural.training.windows import Windows, best_of
from labelgrove.text.pretrained import Specials, load_tokenizer, specials_of


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
    config_: str
    specials_: dict[str, Any]
    pooling_: Literal["first", "last", "mean"]
    clusters_: list[int]

    def views(self) -> dict[str, ViewSpec]:
        """Return the one view: subwords of the encoder's own tokenizer."""
        settings = {"tokenizer": self._name, "length": self.length * self.windows}
        return {"text": ViewSpec("subwords", settings)}

    @property
    def _name(self) -> str:
        return self.encoder or self.default_encoder

    # --- what a model decides -----------------------------------------------------------------

    @abstractmethod
    def _clusters(self, counts: NDArray[np.int64], n_inputs: int, n_documents: int) -> list[int]:
        """Return the labels in each cluster of the output layer; none if it is linear."""

    @property
    def _decay(self) -> float:
        return 2.0

    @property
    def _gate_loss(self) -> bool:
        return True

    # --- texts --------------------------------------------------------------------------------

    def _tokens(self, X: Features, known: int | None = None) -> TokenSequences:
        if not isinstance(X, TokenSequences):
            raise InputError(
                f"{self.name} reads subwords in their order: use the features 'subwords', not "
                f"{type(X).__name__}"
            )
        if known is not None and X.n_terms != known:
            raise InputError(
                f"X has {X.n_terms:,} subwords, but {self.name} learned with {known:,}: use the "
                "featurizer it was trained with"
            )
        return X

    def _readable(self, X: TokenSequences) -> NDArray[np.bool_]:
        return X.lengths > 0

    def _tell(self, X: TokenSequences, progress: Progress) -> None:
        windows = self._windows(specials_of(load_tokenizer(self._name)))
        read = windows.size * windows.most
        if cut := int((X.lengths > read).sum()):
            progress.say(
                f"{cut:,} documents ({cut / len(X):.1%}) have more than {read:,} tokens (length x "
                "windows, less those around a text): what follows is not read"
            )

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
        encoder = pretrained.load_encoder(self._name)
        specials = specials_of(load_tokenizer(self._name))
        self._check(encoder, specials, X)
        self.config_, self.specials_ = pretrained.config_of(encoder), specials.as_json()
        self.pooling_ = (
            pretrained.pooling_for(self._name, specials) if self.pooling == "auto" else self.pooling
        )
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

    def _check(self, encoder: nn.Module, specials: Specials, X: TokenSequences) -> None:
        """Refuse what the transformer cannot read."""
        rows = encoder.get_input_embeddings().num_embeddings  # type: ignore[operator]
        if X.n_terms != specials.n_terms:
            raise InputError(
                f"X has {X.n_terms:,} subwords, and the tokenizer of {self._name} knows "
                f"{specials.n_terms:,}: use the features 'subwords' with tokenizer={self._name!r}"
            )
        if specials.n_terms > rows:
            raise InputError(
                f"the tokenizer of {self._name} knows {specials.n_terms:,} tokens, its model only "
                f"{rows:,}: they do not belong together"
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
        output = new_output(size, counts, self.clusters_, self._decay, self._gate_loss)
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
        weights += weights_of(hidden, len(counts), clusters, self._decay)
        # a layer keeps about 16 vectors of a token, four times as wide inside, and its attention
        kept = 2 if self.checkpointing else 16 * layers
        step = longest * (kept * width + (0 if self.checkpointing else layers * heads * longest))
        return [Size(weights, self.batch * (step + 3 * len(counts)))]

    # --- ranking ------------------------------------------------------------------------------

    def _rank_tokens(self, X: TokenSequences, k: int) -> Ranking:
        pieces, owners = self._windows(Specials.from_json(self.specials_)).split(X)
        return best_of(super()._rank_tokens(pieces, k), owners, len(X))

    def _rank_batch(self, tokens: Tensor, lengths: Tensor, k: int) -> Ranking:
        return as_ranking(*self._trained.rank(tokens, lengths, k))

    @property
    def _trained(self) -> PooledNetwork:
        network = self.networks_[0]
        assert isinstance(network, PooledNetwork)
        return network

    def explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return each subword's vector times the gradient of the label's log probability at it.

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
        best, found = -np.inf, np.empty(0, np.float32)
        for number in range(len(pieces)):
            ids, lengths = (each.to(device) for each in padded(pieces, np.array([number])))
            framed, types = reader.framed(ids, lengths)
            vectors = reader.embedded(framed).detach().requires_grad_()
            hidden = network.between(reader.read({"inputs_embeds": vectors}, types, lengths))
            chance = network.output.log_probability(hidden, label)[0]
            if float(chance.detach()) > best:
                (gradient,) = torch.autograd.grad(chance, vectors)
                weights = (gradient * vectors).sum(2)[0].detach().cpu().numpy()
                first = len(reader.specials.before)
                best, place = float(chance.detach()), number * windows.size
                found = weights[first : first + int(lengths[0])].astype(np.float32)
        return Explanation(np.arange(place, place + len(found)), found)
