"""Texts as vectors of a pretrained sentence encoder: features for any model."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Featurizer
from labelgrove.core.settings import setting
from labelgrove.core.types import Span
from labelgrove.models.neural.readers.sentences import SentenceEncoder
from labelgrove.models.neural.training.devices import device_of
from labelgrove.text.batches import batches, join_rows, join_sequences
from labelgrove.text.encoded_texts import EncodedTexts, text_key
from labelgrove.text.known_words import TEXTS, language_note
from labelgrove.text.pretrained import EXTRA, load_tokenizer
from labelgrove.text.static import normalized
from labelgrove.text.tokenizing import FastTokenizer, as_bytes, check_numbers

FEW = 100  # texts up to which none are looked up on disk or kept there
TRIAL = 64  # texts that tell how long all take
CHUNK = 1024  # texts sorted by length together, and kept on disk together
LONG = 60.0  # seconds from which on it is said beforehand how long it takes
PARTS = "encoder."  # before the names of the encoder's parts in what is saved


class EncoderEmbeddings(Featurizer):
    """Texts to rows of length 1: vectors of a pretrained sentence encoder that does not learn.

    A text without tokens is a row of zeros. Encoder and tokenizer are kept and saved, so that
    their folder is needed in training only. Vectors are kept on disk between trainings, unless the
    texts are few; see `labelgrove.text.encoded_texts`.

    Attributes
    ----------
    sentences_
        The encoder.
    fingerprint_
        What stands for the encoder and all that its vectors depend on.
    tokenizer_
        The tokenizer's JSON, shape (bytes,), uint8.
    """

    name: ClassVar[str] = "encoder"
    keeps_features: ClassVar[bool] = True
    needs_texts: ClassVar[bool] = False

    model: str = setting("", "A sentence encoder: a folder, or a name on the Hugging Face hub.")
    length: int = setting(256, "Tokens read from the start of a text.", least=1)
    device: str = setting("auto", "Such as cpu or cuda; auto chooses.")

    sentences_: SentenceEncoder
    fingerprint_: str
    tokenizer_: NDArray[np.uint8]

    def check_settings(self) -> None:
        """Refuse also no model."""
        super().check_settings()
        if not self.model.strip():
            raise InputError(
                "model is empty: give a folder with a sentence encoder, or its name on the Hugging "
                "Face hub such as 'sentence-transformers/all-MiniLM-L6-v2'"
            )

    def fit(self, texts: Iterable[str], labels: object = None) -> Self:
        """Load the encoder; the first texts tell whether it knows their language."""
        self.check_settings()
        sentences = SentenceEncoder.load(self.model, self.length)
        tokenizer = load_tokenizer(self.model)
        json = as_bytes(tokenizer.backend_tokenizer.to_str())
        self._take(sentences, sentences.fingerprint(json.tobytes()), json)
        unknown = tokenizer.unk_token_id
        unknown = -1 if unknown is None else unknown
        if note := language_note(self.model, self._reader, unknown, texts):
            self.progress.say(note)
        return self

    def fit_transform(self, texts: Iterable[str], labels: object = None) -> NDArray[np.float32]:
        """Load the encoder and return the rows of texts, which are read once."""
        stream = chain.from_iterable(batches(texts))
        first = list(islice(stream, TEXTS))
        return self.fit(first).transform(chain(first, stream))

    def transform(self, texts: Iterable[str]) -> NDArray[np.float32]:
        """Return rows of length 1, or of zeros, shape (n, d).

        Texts are streamed; what stays in memory is the tokens of those whose vectors are not known
        yet.
        """
        self.check_fitted()
        stream = batches(texts)
        first = list(islice(stream, 2))
        few = len(first) < 2 and sum(map(len, first)) < FEW
        kept = None if few else EncodedTexts.of_user(self.fingerprint_, self.sentences_.n_vector)
        unread = _Unread()
        parts = [self._known_rows(batch, kept, unread) for batch in chain(first, stream)]
        X = join_rows(parts, self.sentences_.n_vector)
        for keys, rows, vectors in self._encoded(unread):
            for own, vector in zip(rows, vectors, strict=True):
                X[own] = vector
            if kept is not None:
                kept.keep(keys, vectors)
        return X

    def spans(self, text: str) -> list[Span]:
        """Return the characters behind each token."""
        self.check_fitted()
        return self._reader.spans(text, self.sentences_.n_read)

    def _known_rows(
        self, texts: list[str], kept: EncodedTexts | None, unread: _Unread
    ) -> NDArray[np.float32]:
        """Return rows (n, d) of texts, zero where they are not known; add those to ``unread``."""
        keys = [text_key(text) for text in texts]
        known = {} if kept is None else kept.find(keys)
        rows, new = np.zeros((len(texts), self.sentences_.n_vector), np.float32), []
        for i, (key, text) in enumerate(zip(keys, texts, strict=True)):
            if key in known:
                rows[i] = known[key]
            elif unread.add(key, unread.n_texts + i):
                new.append(text)
        unread.n_texts += len(texts)
        ids, offsets = self._reader.batch(new, self.sentences_.n_read)
        check_numbers(ids, self.sentences_.n_terms)
        unread.tokens.append((ids, offsets))
        return rows

    def _encoded(
        self, unread: _Unread
    ) -> Iterator[tuple[list[bytes], list[list[int]], NDArray[np.float32]]]:
        """Yield keys, rows and vectors of some texts until all are read; show how it goes."""
        tokens = join_sequences(unread.tokens, self.sentences_.n_terms)
        keys, rows = list(unread.rows), list(unread.rows.values())
        if not keys:
            return
        with self.progress.task("encoding texts", len(keys)) as task:
            began = time.monotonic()
            for number, some in enumerate(_chunks(len(keys))):
                vectors = self.sentences_.encode(
                    tokens[some], device=self.device, threads=self.threads, advance=task.advance
                )
                yield [keys[i] for i in some], [rows[i] for i in some], normalized(vectors)
                if number == 0:
                    self._say_how_long(len(some) / (time.monotonic() - began), len(keys))

    def _say_how_long(self, speed: float, n: int) -> None:
        if n / speed > LONG:
            self.progress.say(
                f"encoding {n:,} texts takes about {n / speed / 60:.0f} minutes: {speed:.0f} texts "
                f"a second on {device_of(self.device).type}"
            )

    # --- saving ---------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the encoder's parts beside the rest."""
        state = super().state()
        if (sentences := state.pop("sentences_", None)) is not None:
            state |= {PARTS + name: value for name, value in sentences.state().items()}
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""
        parts = {
            name.removeprefix(PARTS): value
            for name, value in state.items()
            if name.startswith(PARTS)
        }
        self._take(SentenceEncoder.from_state(parts), state["fingerprint_"], state["tokenizer_"])

    def _take(
        self, sentences: SentenceEncoder, fingerprint: str, tokenizer: NDArray[np.uint8]
    ) -> None:
        self.sentences_, self.fingerprint_, self.tokenizer_ = sentences, fingerprint, tokenizer
        self._reader = FastTokenizer(tokenizer, EXTRA)

    def check_state(self) -> None:
        """Refuse what is no tokenizer."""
        checks.array("tokenizer_", self.tokenizer_, np.uint8, (None,))
        checks.texts("fingerprint_", [self.fingerprint_])


class _Unread:
    """Texts to read: the rows that each of them fills, and its tokens.

    Attributes
    ----------
    rows
        By the key of a text; copies of a text are read once.
    tokens
        As `FastTokenizer.batch` returns them, in the order of ``rows``.
    n_texts
        Texts seen, read or not.
    """

    def __init__(self) -> None:
        self.rows: dict[bytes, list[int]] = {}
        self.tokens: list[tuple[NDArray[np.int32], NDArray[np.int64]]] = []
        self.n_texts = 0

    def add(self, key: bytes, row: int) -> bool:
        """Note that a row is to be filled; tell whether the text is a new one."""
        rows = self.rows.setdefault(key, [])
        rows.append(row)
        return len(rows) == 1


def _chunks(n: int) -> Iterator[NDArray[np.int64]]:
    """Divide n texts into chunks; the first is few of all, to tell how long the others take.

    Examples
    --------
    >>> [len(chunk) for chunk in _chunks(2000)]
    [64, 1024, 912]
    """
    first = np.unique(np.linspace(0, n - 1, TRIAL).astype(np.int64))
    yield first
    others = np.setdiff1d(np.arange(n), first, assume_unique=True)
    for start in range(0, len(others), CHUNK):
        yield others[start : start + CHUNK]
