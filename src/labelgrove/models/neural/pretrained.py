"""What the models with a pretrained transformer share: they differ by what stands behind it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from labelgrove.core.errors import InputError
from labelgrove.core.extras import need
from labelgrove.core.features import Features, TokenSequences
from labelgrove.core.progress import Progress
from labelgrove.core.types import Explanation, FitContext, ViewSpec
from labelgrove.models.neural.classifier import NeuralClassifier, fit_network
from labelgrove.models.neural.parts import pretrained
from labelgrove.models.neural.training.batches import padded
from labelgrove.models.neural.training.estimate import Size
from labelgrove.models.neural.training.loop import Objective, device_of
from labelgrove.models.neural.training.settings import PretrainedTraining, Training
from labelgrove.models.neural.training.threads import limited_threads
from labelgrove.models.neural.training.windows import Windows
from labelgrove.text.pretrained import Specials, load_tokenizer, specials_of


class PretrainedClassifier(NeuralClassifier):
    """A transformer reads subwords; what is behind it is new.

    Attributes
    ----------
    config_
        The transformer's sizes and kind, as JSON.
    specials_
        What its tokenizer puts around a text, as JSON.
    pooling_
        Which of its vectors stands for a text.
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
    layer_decay: float
    config_: str
    specials_: dict[str, Any]
    pooling_: Literal["first", "last", "mean"]
    _n_documents: int = 0  # that are learned from

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
        pretrained.layer_shares(encoder, self.layer_decay)
        if self.checkpointing:
            pretrained.checkpointed(encoder)

    # --- what a model decides -----------------------------------------------------------------

    @abstractmethod
    def _built(self, encoder: nn.Module, counts: NDArray[np.int64]) -> nn.Module:
        """Return the network around a transformer.

        Parameters
        ----------
        encoder
            The transformer, on its way to learn or to be given weights.
        counts
            Documents of each label, shape (L,); zeros where weights are put into it next.
        """

    @abstractmethod
    def _objective(
        self, X: TokenSequences, Y: csr_array, validation: tuple[TokenSequences, csr_array] | None
    ) -> Objective:
        """Return what the network learns from these texts."""

    def _settle(
        self, counts: NDArray[np.int64], n_documents: int, width: int, progress: Progress
    ) -> None:
        """Decide what depends on labels (L,), documents and the transformer's width."""

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
        pretrained.freeze(encoder, self.frozen)
        if self.lora:
            encoder = pretrained.with_updates(encoder, self.lora)
        if self.checkpointing:
            pretrained.checkpointed(encoder)
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        self._n_documents = len(X)
        self._settle(counts, len(X), pretrained.width_of(encoder), context.run.progress)
        network = self._built(encoder, counts)
        shares = pretrained.layer_shares(encoder, self.layer_decay)
        own = {f"reader.encoder.{name}": share for name, share in shares.items()}
        network.rate_shares = own  # type: ignore[assignment]
        self.history_ = fit_network(network, self._objective(X, Y, validation), self, context)
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

    def _network(self, number: int) -> nn.Module:
        encoder = pretrained.from_config(self.config_)
        return self._built(encoder, np.zeros(self.n_labels_, np.int64))

    def _size(self, X: TokenSequences, added: int, more: int = 0) -> Size:
        """Return the size of a network.

        Parameters
        ----------
        X
            What it reads.
        added
            Weights that it has beside the transformer's.
        more
            Tokens that it reads beside those of each text.
        """
        encoder = pretrained.skeleton(self._name)
        config: Any = encoder.config
        width, layers = int(config.hidden_size), int(config.num_hidden_layers)
        heads = int(getattr(config, "num_attention_heads", 1))
        longest = min(int(X.lengths.max(initial=1)), self.length) + more
        weights = sum(each.numel() for each in encoder.parameters())
        pretrained.freeze(encoder, self.frozen)
        frozen = sum(each.numel() for each in encoder.parameters() if not each.requires_grad)
        # a layer that is gone back through keeps about 16 vectors of a token, and its attention
        if not more:  # else what is read beside a text learns, below all layers
            layers = 0 if self.frozen < 0 else layers - self.frozen
        kept = 2 * width
        if not self.checkpointing:
            kept += layers * (16 * width + heads * longest)
        return Size(weights + added, self.batch * longest * kept, weights if self.lora else frozen)

    # --- explaining ---------------------------------------------------------------------------

    def _asked(self, X: Features, i: int, label: int) -> TokenSequences:
        """Return the one text of X that is to be explained, or say what is wrong with it."""
        self.check_fitted()
        tokens = self._tokens(X, self.n_terms_)
        if not 0 <= i < len(tokens):
            raise InputError(f"row {i} of X, which has {len(tokens):,} rows")
        if not 0 <= label < self.n_labels_:
            raise InputError(f"label {label} of a model that knows {self.n_labels_:,} labels")
        return tokens[i : i + 1]

    def _best_window(
        self, tokens: TokenSequences, told: Callable[[Tensor, Tensor], tuple[Tensor, float]]
    ) -> Explanation:
        """Explain that window of one text in which a label is likeliest; nothing if it is empty.

        Parameters
        ----------
        tokens
            Of the text.
        told
            From tokens (1, T) and their number (1,) to how much each spoke for the label (T,), and
            the label's log odds.
        """
        best, start, found = -np.inf, 0, np.empty(0, np.float32)
        windows = self._windows(Specials.from_json(self.specials_))
        pieces, _ = windows.split(tokens)
        device = device_of(self.device)
        self.networks_[0].to(device).eval().requires_grad_(requires_grad=False)
        with limited_threads(self.threads):
            for number in range(len(pieces) if len(tokens.tokens) else 0):
                ids, lengths = (each.to(device) for each in padded(pieces, np.array([number])))
                weights, odds = told(ids, lengths)
                if odds > best:
                    best, start = odds, number * windows.size
                    found = weights.cpu().numpy().astype(np.float32)
        return Explanation(np.arange(start, start + len(found)), found)

    @property
    def _width(self) -> int:
        """Size of the transformer's vectors."""
        return pretrained.width_of(pretrained.skeleton(self._name))
