"""What words are and how much they count, tried on a part of the training documents.

Word stems where the texts' language has them, words of the first line that count several times,
words that count the less the later they come: what ranks labels of held-out documents better than
the defaults is taken. A setting that was given is left as it is.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.errors import EmptyCorpusError
from labelgrove.core.estimator import Featurizer
from labelgrove.core.progress import Progress
from labelgrove.core.random import text_fraction
from labelgrove.core.ranking import ndcg
from labelgrove.core.types import Document, ViewSpec
from labelgrove.corpus import Corpus
from labelgrove.labels import LabelCollector
from labelgrove.text import Tfidf

READ = 50_000  # documents of the beginning from which some are taken
TAKEN = 3000
FEWEST = 200  # below, held-out documents could not tell
PARTS = 3  # each is judged by what is learned from the others
JUDGED = 1000  # documents that are enough to judge by
FIRST_LINES = (2, 4)
FADES = (100.0, 20.0)
STEMS = "snowball:"
OF_TFIDF = ("analyzer", "first_line", "fade_after")
Settings = Mapping[str, Any]


def choose_text_settings(
    parts: Mapping[str, Featurizer],
    left_open: Mapping[str, Iterable[str]],
    corpus: Corpus,
    *,
    held_out: float,
    seed: int,
    threads: int | None,
    progress: Progress,
) -> dict[str, dict[str, Any]]:
    """Try settings of the texts' features, set those that held-out documents prefer, return them.

    Parameters
    ----------
    parts
        Unfitted featurizers by view; they are changed in place.
    left_open
        Names of the settings that nobody gave, by view, as of `settings_left_open`.
    corpus
        Documents with labels, of which a part is read.
    held_out
        The share of them that is held out by a hash of the text: it has no part in this, and what
        is scored on it later was not selected by it. With 0 nothing is tried.
    seed, threads
        Of that hash; of the model that ranks.
    progress
        Where it is said what is taken.

    Returns
    -------
    dict
        What was set, by view.
    """
    wanted = {name for names in left_open.values() for name in names}
    tfidf = next((view for view in left_open if isinstance(parts[view], Tfidf)), None)
    if tfidf is not None:
        wanted &= set(left_open[tfidf])
    if not wanted or not held_out:
        return {}
    documents = _some(corpus, held_out, seed)
    if len(documents) < FEWEST:
        return {}
    given = {} if tfidf is None else parts[tfidf].get_params(deep=False)
    trials = _Trials(documents, {**given, "threads": threads}, seed, threads)
    if not trials.can_be_judged:
        return {}
    chosen = trials.improve(_candidates(trials.texts, wanted, progress), progress)
    by_view = {
        view: {name: value for name, value in chosen.items() if name in names}
        for view, names in left_open.items()
    }
    for view, own in by_view.items():
        parts[view].set_params(**own)
    return {view: own for view, own in by_view.items() if own}


def settings_left_open(
    views: Mapping[str, ViewSpec], given: Any = None, corpus: Corpus | None = None
) -> dict[str, list[str]]:
    """Return, for each view of words, the settings that may be chosen.

    Parameters
    ----------
    views
        What a model asks for.
    given
        What a user gave instead: `Tagger`'s ``features``.
    corpus
        If it is of features, there are no words to try.
    """
    found: dict[str, list[str]] = {}
    if corpus is not None and corpus.featurizer is not None:
        return found
    for view, spec in views.items():
        own = given.get(view) if isinstance(given, Mapping) else given
        if isinstance(own, str | Featurizer):
            continue
        fixed = {**spec.settings, **(own or {})}
        if fixed.get("featurizer", spec.featurizer) != spec.featurizer:
            continue
        names: tuple[str, ...] = ()
        if spec.featurizer == "tf-idf" and spec.ranks:
            names = OF_TFIDF
        elif spec.featurizer == "words" and spec.reads_names:
            names = ("analyzer",)  # networks have vectors of whole words
        if names := tuple(name for name in names if name not in fixed):
            found[view] = [*names]
    return found


def settings_perhaps_chosen(
    views: Mapping[str, ViewSpec], parts: Mapping[str, Featurizer]
) -> dict[str, dict[str, Any]]:
    """Return, for each view, the settings that trials may have chosen, with their values.

    A saved tagger does not tell them from settings that were given: those are returned that have
    a value which trials can choose.

    Parameters
    ----------
    views
        What the model asks for.
    parts
        The featurizers of a fitted tagger, by view.
    """
    given = {view: {"featurizer": part.name} for view, part in parts.items()}
    found = {
        view: {name: getattr(parts[view], name) for name in names}
        for view, names in settings_left_open(views, given).items()
        if view in parts
    }
    return {
        view: {name: value for name, value in own.items() if _is_candidate(name, value)}
        for view, own in found.items()
    }


def _is_candidate(name: str, value: object) -> bool:
    """Tell whether trials can choose this value of a setting."""
    if name == "analyzer":
        return str(value).startswith(STEMS)
    return value in (FIRST_LINES if name == "first_line" else FADES)


@dataclass(frozen=True)
class _Candidate:
    """Settings that are tried instead of the best so far, and the words that tell of them.

    ``otherwise`` tells that they were no better; empty where nobody asks.
    """

    settings: Settings
    words: str
    otherwise: str = ""


class _Trials:
    """Rankings of some documents by a linear model that learned from the others."""

    def __init__(
        self, documents: list[Document], given: Settings, seed: int, threads: int | None
    ) -> None:
        self.texts = [document.text for document in documents]
        self._given, self._seed, self._threads = dict(given), seed, threads
        labels = LabelCollector()
        for document in documents:
            labels.add(document.labels)
        self._Y: csr_array = labels.finish(None)[1]
        # copies of a text fall into one part
        fractions = [text_fraction(text, seed) for text in self.texts]
        self._part = (np.array(fractions) * 2**32).astype(np.int64) % PARTS
        self._judged = min(PARTS, math.ceil(JUDGED * PARTS / len(documents)))

    @property
    def can_be_judged(self) -> bool:
        """Whether each part has documents: copies of one text are all in the same part."""
        return len(np.unique(self._part)) == PARTS

    def improve(self, steps: Iterable[list[_Candidate]], progress: Progress) -> dict[str, Any]:
        """Return settings that are better than those given, one step after the other."""
        best: dict[str, Any] = {}
        score: NDArray[np.float64] | None = None
        title = f"trying word forms and weights on {len(self.texts):,} documents"
        with progress.task(title, unit="trials") as shown:
            for step in steps:
                score = self._scores({}) if score is None else score
                tried = [(each, self._scores({**best, **each.settings})) for each in step]
                shown.advance(len(tried))
                candidate, found = max(tried, key=lambda pair: float(pair[1].mean()))
                gain = found - score
                was, now = 100 * score.mean(), 100 * found.mean()
                if gain.mean() > gain.std() / math.sqrt(len(gain)) > 0:
                    progress.say(f"{candidate.words}: held-out nDCG@5 {was:.1f} -> {now:.1f}")
                    best, score = {**best, **candidate.settings}, found
                elif candidate.otherwise:
                    figures = f"held-out nDCG@5 {was:.1f}, with stems {now:.1f}"
                    progress.say(f"{candidate.otherwise}: {figures}")
        return best

    def _scores(self, settings: Settings) -> NDArray[np.float64]:
        """Return nDCG@5 of each judged document, shape (j,)."""
        from labelgrove.models.linear.bonsai import Bonsai

        X = Tfidf(**{**self._given, **settings}).fit_transform(self.texts)
        scores = []
        for part in range(self._judged):
            rest, own = np.flatnonzero(self._part != part), np.flatnonzero(self._part == part)
            model = Bonsai(seed=self._seed, threads=self._threads).fit(X[rest], self._Y[rest])
            scores.append(ndcg(model.rank(X[own], 5), self._Y[own], 5))
        return np.concatenate(scores)


def _some(corpus: Corpus, held_out: float, seed: int) -> list[Document]:
    """Return documents with text and labels, chosen by a hash of their texts."""
    documents = (each for each in islice(iter(corpus), READ) if each.labels and each.text.strip())
    numbered = ((text_fraction(each.text, seed), i, each) for i, each in enumerate(documents))
    others = (each for each in numbered if each[0] >= held_out)
    try:
        return [each for _, _, each in heapq.nsmallest(TAKEN, others)]
    except EmptyCorpusError:  # names of labels may be all that there is
        return []


def _candidates(
    texts: list[str], wanted: Iterable[str], progress: Progress
) -> Iterator[list[_Candidate]]:
    """Yield what is tried in each step."""
    wanted = set(wanted)
    if "analyzer" in wanted and (stems := _stems(texts, progress)):
        yield [stems]
    if "first_line" in wanted and 2 * sum("\n" in text for text in texts) >= len(texts):
        yield [
            _Candidate({"first_line": n}, f"words of the first line count {n} times")
            for n in FIRST_LINES
        ]
    if "fade_after" in wanted:
        yield [
            _Candidate({"fade_after": n}, f"later words count less (fade_after={n:g})")
            for n in FADES
        ]


def _stems(texts: list[str], progress: Progress) -> _Candidate | None:
    """Return the stems of the texts' language, or say why there are none."""
    from labelgrove.text.language import NO_LANGUAGE, language_shares, main_language
    from labelgrove.text.snowball import stemmed_language

    shares = language_shares(texts)
    code = main_language(shares)
    if code is None:
        first = [f"{each} {shares[each]:.0%}" for each in islice(shares, 3) if each != NO_LANGUAGE]
        if first:
            said = "most texts are in no one language that is recognised"
            progress.say(f"{said} ({', '.join(first)}): words are taken as they are")
        return None
    language = stemmed_language(code)
    if language is None:
        progress.say(f"there are no word stems of the texts' language ({code})")
        return None
    return _Candidate(
        {"analyzer": f"{STEMS}{language.code}"},
        f"{language.name}: word stems instead of words",
        f"{language.name}: words as they are, since word stems do not rank labels clearly better",
    )
