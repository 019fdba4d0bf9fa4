"""Which language texts are in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from labelgrove.core.errors import UnknownNameError

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

TEXTS = 300  # that are looked at
CHARACTERS = 1000  # of each, from its beginning
MAJORITY = 0.6  # of the texts, for the language of all
NO_LANGUAGE = "zxx"  # the library's class for numbers, codes and the like
_ALL = (
    "af am an ar as az ba be bg bn br bs ca cs cy da de dz el en eo es et eu fa fi fo fr "
    "fy ga gd gl gu ha he hi hr ht hu hy id ig is it ja jv ka kk km kn ko ku ky la lb lg "
    "ln lo lt lv mg mk ml mn mr ms mt my ne nl nn no oc om or pa pl ps pt qu ro ru rw sa "
    "se si sk sl sn so sq sr st sv sw ta te tg th tk tl tr tt ug uk ur uz vi vo wa xh yo "
    "zh zu"
)
CODES = tuple(_ALL.split())  # of all languages that are known, in ISO 639-1
# Texts that each language is believed to have before any is looked at. Without them one short
# title would be enough to be sure; with 1 sixty titles in Portuguese would not be.
PRIOR = 0.3


def detect_language(texts: Iterable[str]) -> str | None:
    """Return the ISO 639-1 code of the language that most texts are in, or None if unsure.

    Parameters
    ----------
    texts
        Of a sequence some hundred texts are looked at, evenly spaced; of anything else the first.

    Examples
    --------
    >>> detect_language(["Der kleine Prinz", "Die unendliche Geschichte", "Kochen für Anfänger"])
    'de'
    >>> detect_language(["4711", "0815"])
    """
    return main_language(language_shares(texts))


def main_language(shares: Mapping[str, float]) -> str | None:
    """Return the language with most of the `language_shares`, or None if that is too little.

    Examples
    --------
    >>> main_language({"de": 0.9, "en": 0.1}), main_language({"en": 0.5, "fi": 0.5})
    ('de', None)
    """
    best = max(shares, key=lambda code: shares[code], default=NO_LANGUAGE)
    return None if best == NO_LANGUAGE or shares[best] < MAJORITY else best


def language_shares(texts: Iterable[str]) -> dict[str, float]:
    """Return the share of texts in each language, largest first; "zxx" is text in no language.

    A title of two words fits several languages. It is counted for those that other texts are in:
    the shares are those of a mixture of languages, found by expectation maximisation.

    Parameters
    ----------
    texts
        As of `detect_language`. Empty texts do not count.
    """
    if isinstance(texts, Sequence) and len(texts) > TEXTS:
        texts = [texts[i * len(texts) // TEXTS] for i in range(TEXTS)]
    looked_at = [text[:CHARACTERS] for text in islice(texts, TEXTS) if text.strip()]
    if not looked_at:
        return {}
    rankings = [dict(_identifier().rank(text)) for text in looked_at]
    codes = sorted(rankings[0])
    likelihood = np.array([[ranking[code] for code in codes] for ranking in rankings])
    shares = np.full(len(codes), 1 / len(codes))
    for _ in range(30):
        belongs = likelihood * shares + np.finfo(float).tiny
        belongs /= belongs.sum(axis=1, keepdims=True)
        shares = belongs.sum(axis=0) + PRIOR
        shares /= shares.sum()
    shares = belongs.mean(axis=0)
    return {codes[i]: float(shares[i]) for i in np.argsort(-shares, kind="stable")}


def candidate_scores(text: str, candidates: Sequence[str]) -> dict[str | None, float]:
    """Return how probable each of some languages is for a text, the most probable first.

    None stands for any other language, or none. All of them add up to 1.

    Parameters
    ----------
    text
        The text, of which the first 1,000 characters are looked at.
    candidates
        ISO 639-1 codes, of `CODES`.

    Examples
    --------
    >>> scores = candidate_scores("Ein Hund lief über die Straße nach Hause.", ["de", "fi"])
    >>> max(scores, key=scores.get)
    'de'
    """
    for code in candidates:
        if code not in CODES:
            raise UnknownNameError("language", code, CODES)
    text = text[:CHARACTERS]
    known = dict(_identifier().rank(text)) if text.strip() else {}
    scores: dict[str | None, float] = {code: float(known.get(code, 0)) for code in candidates}
    scores[None] = max(0.0, 1 - sum(scores.values()))
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


@lru_cache(1)
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    # dialects and creoles have codes of three letters; as candidates they take short texts away
    # from the languages that they are close to
    identifier.set_languages([c for c in identifier.labels if len(c) == 2 or c == NO_LANGUAGE])
    return identifier
