"""A language model judges the best labels of a first stage.

Any server that speaks as OpenAI's does can be asked: vLLM, llama.cpp, Ollama, or one in the cloud.
That large language models rank better among few candidates than among all labels is what many
have found, among them Zhu and Zamani, "ICXML: an in-context learning framework for zero-shot
extreme multi-label classification", 2024, whose second stage this resembles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features, TokenSequences, Views
from labelgrove.core.progress import QualityNote
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.core.settings import Rule, setting
from labelgrove.core.types import Explanation, FitContext, ViewSpec
from labelgrove.core.wording import several
from labelgrove.labels.distinct import details, distinct_names
from labelgrove.models.first_stage import FirstStage, behind
from labelgrove.models.registry import MODELS
from labelgrove.models.rerank.answers import Answers
from labelgrove.models.rerank.asking import Asker, Question
from labelgrove.models.rerank.combining import Combine, Judgement
from labelgrove.models.rerank.prompts import INSTRUCTION, ChosenLabels, NamedLabel, prompt, schema
from labelgrove.models.rerank.server import ChatServer, check_url
from labelgrove.text.plain import text_of

VIEW = "text"
FORMATS = ("json_schema", "json_object", "text")
OURS = ("model", "messages", "stream", "n")  # parts of a request that options cannot change


class Rerank(Classifier):
    """A first stage names candidates, and a language model chooses among them.

    The texts to be ranked are sent to ``url``, up to 3,000 characters of each
    (``text.length``). In training only held-out ones are, at most ``calibrate_on``: they tell how
    far the language model is to be believed. Labels that it makes up are dropped; a text for which
    there is no answer in time keeps the ranking of the first stage.

    A key is read from the environment variable LABELGROVE_LLM_KEY when it is needed, and kept
    nowhere. LABELGROVE_LLM_URL is asked in place of ``url`` where it is set.

    Attributes
    ----------
    first_
        The first stage.
    names_
        What each label is called in a question, another name for each of L labels.
    details_
        What else is known of each, such as a description.
    both_, alone_
        Weights of `Judgement`, shapes (4,) and (2,).
    """

    name: ClassVar[str] = "rerank"
    uses_validation: ClassVar[bool] = True  # how far the language model is believed

    first: str = setting(
        "bonsai",
        "The model that names the candidates, such as bonsai or grove; it has its default "
        "settings.",
    )
    url: str = setting(
        "",
        "Address of an OpenAI-compatible server, such as http://localhost:8000/v1. Texts are sent "
        "there.",
    )
    model: str = setting("", "Name of the language model at the server.")
    candidates: int = setting(30, "Labels that the language model chooses from.", least=1, most=500)
    combine: Combine = setting(
        "weigh",
        "How its choice counts: weigh (log odds of the first stage, moved as far as held-out "
        "documents justify) or chosen-first (chosen labels in front, in the order of the answer).",
    )
    calibrate_on: int = setting(
        200,
        "Held-out documents that are sent to the server in training, at most, to learn how far to "
        "believe it and to calibrate probabilities. 0 asks for none.",
        least=0,
    )
    instruction: str = setting(INSTRUCTION, "How a question begins: what is to be chosen.")
    describe: bool = setting(
        True, "Give descriptions of the labels with their names, or the path where there are none."
    )
    timeout: float = setting(
        60.0,
        "Seconds for the answer about one text, with all tries and pauses.",
        above=0,
        most=3600,
    )
    parallel: int = setting(4, "Questions that are asked at once.", least=1, most=256)
    temperature: float | None = setting(
        0.0, "Randomness of the answers; None lets the server decide.", least=0
    )
    max_tokens: int | None = setting(
        1000, "Longest answer in tokens; None lets the server decide.", least=1
    )
    answer_format: str = setting(
        "json_schema",
        "The response_format that is asked for: json_schema, or json_object or text for servers "
        "that do not know it.",
        rule=Rule(lambda given: given in FORMATS, "json_schema, json_object or text"),
    )
    options: Mapping[str, Any] = setting(
        {},
        "Further parts of each request, such as {'max_completion_tokens': 500}.",
        rule=Rule(
            lambda given: isinstance(given, dict) and not {*given} & {*OURS},
            f"a table without {', '.join(OURS)}, such as {{'seed': 1}}",
        ),
    )
    cache: str = setting(
        "",
        "Folder in which answers are kept, so that nothing is asked twice; by default labelgrove "
        "in the user's cache folder.",
    )

    first_: FirstStage
    names_: list[str]
    details_: list[str]
    both_: NDArray[np.float64]
    alone_: NDArray[np.float64]

    _asker: Asker | None = None

    # --- what it needs ------------------------------------------------------------------------

    def _new_first(self) -> FirstStage:
        return FirstStage.named(self.first, {"seed": self.seed, "threads": self.threads})

    def _first(self) -> FirstStage:
        return self.first_ if hasattr(self, "first_") else self._new_first()

    @property
    def ranks_by_name(self) -> bool:  # type: ignore[override]
        """True where the first stage ranks labels by their names."""
        return self._first().model.ranks_by_name

    @property
    def most_held_out(self) -> int:  # type: ignore[override]
        """Held-out documents that may be ranked in training."""
        return self.calibrate_on

    def views(self) -> dict[str, ViewSpec]:
        """Return the text itself, and what the first stage reads."""
        return {VIEW: ViewSpec("plain", ranks=False), **self._first().specs()}

    def check_settings(self) -> None:
        """Refuse also an address that is none, and itself as its first stage."""
        super().check_settings()
        if self.url:
            check_url(self.url)
        if self.first == self.name:
            raise InputError("first='rerank' is this model itself: give another, such as bonsai")

    def check_needs(self) -> None:
        """Refuse a server that does not answer a small question."""
        self._check_named()
        self._new_first().model.check_needs()
        question = self._question("A short text.", [NamedLabel("text"), NamedLabel("picture")])
        asker = self._new_asker()
        if asker.ask([question])[0] is None:
            said = asker.usage.example or f"the answer is {next(iter(asker.usage.failures))}"
            raise InputError(
                f"the language model {self.model!r} at {asker.server.url} does not answer a first "
                f"question: {said}; start the server, or set url, model or answer_format"
            )

    def _check_named(self) -> None:
        if missing := [name for name in ("url", "model") if not getattr(self, name)]:
            raise InputError(
                f"rerank needs {missing[0]}: give the address of an OpenAI-compatible server and "
                "the name of its model, such as --set url=http://localhost:8000/v1 --set "
                "model=NAME"
            )

    def _new_asker(self) -> Asker:
        server = ChatServer.of(self.url, self.timeout)
        return Asker(server, Answers.of(self.cache), self.parallel)

    # --- asking -------------------------------------------------------------------------------

    def sends_to(self) -> list[str]:
        """Return the server that texts are sent to."""
        return [ChatServer.of(self.url, self.timeout).url] if self.url else []

    def take_notes(self) -> list[str]:
        """Return what asking came to since this was called last."""
        if self._asker is None:
            return []
        usage = self._asker.take_usage()
        line = usage.line(self._asker.server.url)
        return [QualityNote(line) if usage.failures else line] if line else []

    def _ask(self, X: Features, named: Ranking) -> list[ChosenLabels | None]:
        """Return what is chosen for each text; None for one without words or candidates too."""
        texts = _texts(X)
        rows, questions = [], []
        for row in range(len(texts)):
            text, labels = text_of(texts, row), named.labels[row]
            choices = [NamedLabel(self.names_[i], self.details_[i]) for i in labels[labels >= 0]]
            if text.strip() and choices:
                rows.append(row)
                questions.append(self._question(text, choices))
        server = ChatServer.of(self.url, self.timeout)
        if self._asker is None or self._asker.server != server:
            self._asker = self._new_asker()
        found: list[ChosenLabels | None] = [None] * len(texts)
        for row, answer in zip(rows, self._asker.ask(questions), strict=True):
            found[row] = answer
        return found

    def _question(self, text: str, choices: Sequence[NamedLabel]) -> Question:
        """Return the request about a text; a part that is None is left out."""
        names = [choice.name for choice in choices]
        shown = choices if self.describe else [NamedLabel(name) for name in names]
        answer: dict[str, Any] = {"type": self.answer_format}
        if self.answer_format == "json_schema":
            answer["json_schema"] = {"name": "labels", "strict": True, "schema": schema(names)}
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt(text, shown, self.instruction)}],
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "response_format": answer if self.answer_format != "text" else None,
            **self.options,
        }
        return Question({k: v for k, v in body.items() if v is not None}, names)

    # --- learning -----------------------------------------------------------------------------

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        self._check_named()
        if context.labels is None or len(context.labels) < Y.shape[1]:
            raise InputError(
                "rerank tells a language model the names of labels: fit it through Tagger, or give "
                "a FitContext with the labels"
            )
        _texts(X)
        self._asker = None
        first = self._new_first()
        first.fit(X, Y, context)
        self.first_, space = first, context.labels
        self.names_ = distinct_names(space)[: Y.shape[1]]
        self.details_ = [details(space, i) for i in range(Y.shape[1])]
        judged = self._judgement(context)
        self.both_, self.alone_ = judged.both, judged.alone

    def _judgement(self, context: FitContext) -> Judgement:
        """Return how far the language model is believed, by held-out documents if there are any."""
        if context.validation is None or not self.calibrate_on:
            return Judgement.unlearned()
        X, Y = context.validation
        rows = some_rows(Y.shape[0], self.calibrate_on, self.seed)
        X, Y = X[rows], Y[rows]
        texts = several(len(rows), "held-out text is", "held-out texts are")
        context.run.progress.say(
            f"{texts} sent to {self.sends_to()[0]}, no other text of the training is"
        )
        named = self.first_.rank(X, self.candidates)
        answers = self._ask(X, named)
        if not any(answer is not None for answer in answers):
            context.run.progress.warn("no held-out text got an answer: nothing learned from them")
        return Judgement.learned(named, answers, Y)

    @property
    def refits(self) -> bool:
        """True where the first stage learns from more documents."""
        return self.first_.model.refits

    def refit(self, X: Features, Y: csr_array, *, context: FitContext | None = None) -> Self:
        """Return the same with a first stage that learns from these documents."""
        self.check_fitted()
        found = self.fresh()
        found.set_state(self.state())
        found.first_ = self.first_.refitted(X, Y, context or FitContext())
        found._asker = self._asker  # it may know that the server is down
        return found

    # --- ranking ------------------------------------------------------------------------------

    def _rank(self, X: Features, k: int) -> Ranking:
        self.first_.model.threads = self.threads
        judged = Judgement(self.both_, self.alone_)
        named = self.first_.rank(X, min(max(k, self.candidates), self.n_labels_))
        head = named.top(min(self.candidates, named.k))
        ranking = judged.ranked(head, self._ask(X, head), self.combine)
        return behind(ranking, judged.scores_alone(named), k)

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Explain a label as the first stage does: a language model has no weights of words."""
        return self.first_.explain(X, i, label)

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings for few labels; ``url`` and ``model`` of a server belong to them."""
        return {"candidates": 8, "timeout": 10.0, "cache": str(folder / "answers")}

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy gets: all but what is known of the server."""
        return {name: value for name, value in vars(self).items() if name != "_asker"}

    # --- saving -------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return all but the first stage, which has a folder of its own."""
        return {name: value for name, value in super().state().items() if name != "first_"}

    def write(self, folder: Path) -> None:
        """Write settings and state, and the first stage below."""
        super().write(folder)
        self.first_.write(folder / "first")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        found = super().read(folder)
        found.first_ = FirstStage(MODELS.read(folder / "first"))
        with checks.reading(folder):
            if found.first_.model.n_labels_ != found.n_labels_:
                raise ValueError(f"the first stage does not have {found.n_labels_:,} labels")
        return found

    def check_state(self) -> None:
        """Refuse names of other labels, weights that are none, and an address that is none."""
        super().check_state()
        if self.url:
            check_url(self.url)
        for name in ("names_", "details_"):
            if len(checks.texts(name, getattr(self, name))) != self.n_labels_:
                raise ValueError(f"{name} must be those of {self.n_labels_:,} labels")
        for name, size in (("both_", 4), ("alone_", 2)):
            checks.finite(name, checks.array(name, getattr(self, name), np.float64, (size,)))


def some_rows(n: int, most: int, seed: int) -> NDArray[np.int64]:
    """Return at most so many of n rows, drawn at random, in their order."""
    if n <= most:
        return np.arange(n)
    drawn: NDArray[np.int64] = np.sort(generator(seed, "held-out rows").permutation(n)[:most])
    return drawn


def _texts(X: Features) -> TokenSequences:
    if not isinstance(X, Views) or VIEW not in X or not isinstance(X[VIEW], TokenSequences):
        raise InputError(
            "rerank needs the texts themselves and the features of its first stage: give Views "
            "with all that views() of the model names, or use Tagger"
        )
    texts: TokenSequences = X[VIEW]
    return texts
