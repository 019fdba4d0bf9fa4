"""Several models asked together (equation 9 of AttentionXML).

You, Dai, Zhang, Mamitsuka and Zhu, "AttentionXML: extreme multi-label text classification with
multi-label attention based recurrent neural networks", 2018, combine AttentionXML and Parabel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks, storage
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features
from labelgrove.core.ranking import Ranking
from labelgrove.core.settings import Rule, setting
from labelgrove.core.types import Estimate, Explanation, FitContext, ViewSpec
from labelgrove.evaluation import Calibration
from labelgrove.models.members import own_context, own_views
from labelgrove.models.registry import MODELS
from labelgrove.models.relabelled import read_model

PLACES = 100  # labels that each partner names


class Partner(NamedTuple):
    """One of several models.

    Parameters
    ----------
    model
        The fitted classifier.
    views
        For each of its own views the name that the view has in the consensus.
    labels
        The number that each of its labels has in the consensus, shape (L,), int32.
    calibration
        From its scores to probabilities.
    """

    model: Classifier
    views: Mapping[str, str]
    labels: NDArray[np.int32]
    calibration: Calibration


class Consensus(Classifier):
    """A label is as probable as that not all partners are wrong about it: 1 - (1 - p)(1 - q) ...

    Each partner names its best labels; one that it does not name has probability 0 there. Fitted
    like any model it trains its partners; `of` takes fitted ones, which is what ``labelgrove
    combine`` does.

    Attributes
    ----------
    partners_
        The fitted partners.
    """

    name: ClassVar[str] = "consensus"
    uses_validation: ClassVar[bool] = True  # some partners stop early

    partners: Sequence[str] = setting(
        ("bonsai", "attentionxml"),
        "Names of the models to combine. They are trained with their default settings.",
        rule=Rule(
            lambda names: isinstance(names, list | tuple) and len(names) > 1,
            "a list of at least two models, such as ['bonsai', 'attentionxml']",
        ),
    )
    places: int = setting(PLACES, "Number of labels that each partner ranks.", least=1)

    partners_: list[Partner]

    @classmethod
    def of(cls, partners: Sequence[Partner], n_labels: int, places: int = PLACES) -> Self:
        """Return a consensus of fitted partners."""
        found = cls(partners=[partner.model.name for partner in partners], places=places)
        found.partners_, found.n_labels_ = list(partners), n_labels
        return found

    def _new(self) -> list[Classifier]:
        return [MODELS.create(name, seed=self.seed, threads=self.threads) for name in self.partners]

    def check_needs(self) -> None:
        """Refuse what a partner cannot have."""
        for model in self._new():
            model.check_needs()

    def views(self) -> dict[str, ViewSpec]:
        """Return the partners' views; those that are alike are shared.

        Fitted partners may read fewer than they learned from.
        """
        if not hasattr(self, "partners_"):
            return {name: spec for own in self._named() for name, spec in own.values()}
        return {
            partner.views[view]: spec
            for partner in self.partners_
            for view, spec in partner.model.views().items()
            if view in partner.views
        }

    def _named(self) -> list[dict[str, tuple[str, ViewSpec]]]:
        """Return each partner's views with the names that they have here."""
        known: list[ViewSpec] = []
        found = []
        for model in self._new():
            own = {}
            for view, spec in model.views().items():
                if spec not in known:
                    known.append(spec)
                own[view] = (f"{spec.featurizer}-{known.index(spec) + 1}", spec)
            found.append(own)
        return found

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        partners = []
        everything = np.arange(Y.shape[1], dtype=np.int32)
        for number, (model, own) in enumerate(zip(self._new(), self._named(), strict=True)):
            context.run.progress.say(f"partner {number + 1}: {model.name}")
            views = {view: name for view, (name, _) in own.items()}
            model.fit(
                own_views(X, views), Y, context=own_context(context, views, f"partner{number}")
            )
            read = {view: views[view] for view in model.views()}
            partners.append(Partner(model, read, everything, Calibration.identity()))
        self.partners_ = partners

    def check_estimates(self) -> None:
        """Refuse to estimate where a partner cannot tell."""
        for model in self._new():
            model.check_estimates()

    def estimate(self, X: Features, Y: csr_array, context: FitContext) -> Estimate:
        """Tell what `fit` would take: the times of the partners, who are trained in turn."""
        told = []
        for model, own in zip(self._new(), self._named(), strict=True):
            views = {view: name for view, (name, _) in own.items()}
            told.append(model.estimate(own_views(X, views), Y, own_context(context, views, "")))
        return Estimate(
            seconds=sum(each.seconds for each in told),
            memory=max(each.memory for each in told),
            free=min((each.free for each in told if each.free is not None), default=None),
            divisible=sum(each.divisible for each in told),
            processes=min((each.processes for each in told if each.processes), default=None),
            exchanged=sum(each.exchanged for each in told),
        )

    @property
    def refits(self) -> bool:
        """True where a partner learns from more documents."""
        return any(partner.model.refits for partner in self.partners_)

    def refit(self, X: Features, Y: csr_array, *, context: FitContext | None = None) -> Self:
        """Return a consensus whose partners that can learn from these documents."""
        self.check_fitted()
        context, partners = context or FitContext(), []
        for number, (partner, named) in enumerate(zip(self.partners_, self._named(), strict=True)):
            if partner.model.refits:
                views = {view: name for view, (name, _) in named.items()}
                own = own_context(context, views, f"partner{number}")
                model = partner.model.refit(own_views(X, views), Y, context=own)
                partner = partner._replace(model=model)
            partners.append(partner)
        found = self.fresh()
        found.partners_, found.n_labels_ = partners, self.n_labels_
        return found

    @property
    def remembers(self) -> bool:  # type: ignore[override]
        """True where a partner remembers documents."""
        fitted = [partner.model for partner in getattr(self, "partners_", [])]
        return any(model.remembers for model in fitted or self._new())

    def remembered(self) -> Iterable[str]:
        """Return how the documents begin that its partners remember."""
        return chain.from_iterable(partner.model.remembered() for partner in self.partners_)

    def _remember(self, X: Features, Y: csr_array, context: FitContext) -> Self:
        """Return a consensus whose partners that can remember the documents, the others as before.

        A label that a partner did not know, for whatever reason, comes behind those it does.
        """
        partners = []
        given = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
        for number, partner in enumerate(self.partners_):
            if partner.model.remembers:
                new = np.setdiff1d(given, partner.labels)
                labels = np.concatenate([partner.labels, new]).astype(np.int32)
                own = own_context(context, partner.views, f"partner{number}")
                if context.labels is not None:
                    own = replace(own, labels=context.labels.with_labels(labels))
                x = own_views(X, partner.views)
                model = partner.model.remember(x, Y[:, labels], context=own)
                partner = partner._replace(model=model, labels=labels)
            partners.append(partner)
        found = self.fresh()
        found.partners_ = partners
        return found

    @property
    def most_held_out(self) -> int | None:  # type: ignore[override]
        """As many held-out documents as all partners may rank."""
        fitted = [partner.model for partner in getattr(self, "partners_", [])]
        limits = [model.most_held_out for model in fitted or self._new()]
        return min((each for each in limits if each is not None), default=None)

    def sends_to(self) -> list[str]:
        """Return the addresses to which its partners send texts."""
        return [url for partner in self.partners_ for url in partner.model.sends_to()]

    def take_notes(self) -> list[str]:
        """Return what its partners have to say."""
        return [note for partner in self.partners_ for note in partner.model.take_notes()]

    def _rank(self, X: Features, k: int) -> Ranking:
        doubts = None
        for partner in self.partners_:
            ranking = partner.model.rank(own_views(X, partner.views), max(k, self.places))
            ranking = ranking.with_scores(partner.calibration.apply(ranking.scores))
            doubt = doubts_of(ranking, partner.labels, self.n_labels_)
            doubts = doubt if doubts is None else doubts + doubt
        assert doubts is not None
        doubts.data = -np.expm1(doubts.data)
        return Ranking.from_csr(doubts, k)

    def _explain_label(self, label: int) -> Explanation:
        """Return what the first partner says that has weights of words for the label."""
        for partner in self.partners_:
            for own in np.flatnonzero(partner.labels == label).tolist():
                try:
                    told = partner.model.explain_label(own)
                except InputError:  # it has none
                    continue
                return replace(told, view=partner.views[told.view])
        raise InputError(f"no partner knows label {label} and has weights of words for it")

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Tell what the partner says that is surest of the label among those that can explain.

        The neighbours are those of the surest one that has some.
        """
        found: list[tuple[float, Explanation]] = []
        for partner in self.partners_:
            for own in np.flatnonzero(partner.labels == label).tolist():
                x = own_views(X, partner.views)
                try:
                    told = partner.model.explain(x, i, own)
                except InputError:  # it cannot
                    continue
                ranking = partner.model.rank(x[i : i + 1], self.places)
                sure = partner.calibration.apply(ranking.scores)[ranking.labels == own]
                near = tuple(
                    each._replace(labels=tuple(partner.labels[[*each.labels]].tolist()))
                    for each in told.neighbours
                )
                told = replace(told, view=partner.views[told.view], neighbours=near)
                found.append((float(sure.max(initial=0.0)), told))
        if not found:
            raise InputError(f"no partner knows label {label} and can explain it")
        found.sort(key=lambda each: -each[0])
        near = next((told.neighbours for _, told in found if told.neighbours), ())
        return replace(found[0][1], neighbours=near)

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"partners": ["bonsai", "label-match"]}

    # --- saving -------------------------------------------------------------------------------

    def write(self, folder: Path) -> None:
        """Write every partner into a folder of its own."""
        settings = self.get_params(deep=False)
        about = [{"views": dict(partner.views)} for partner in self.partners_]
        values: dict[str, Any] = {
            "part": self.name,
            "settings": {**settings, "partners": list(settings["partners"])},
            "n_labels_": self.n_labels_,
            "about": about,
        }
        for number, partner in enumerate(self.partners_):
            values[f"labels{number}"] = partner.labels
            values[f"x{number}"], values[f"y{number}"] = (
                partner.calibration.x,
                partner.calibration.y,
            )
            partner.model.write(folder / f"partner{number}")
        storage.write_values(folder, values)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        values = storage.read_values(folder)
        with checks.reading(folder):
            found = cls._with_settings(folder, values["settings"])
            found.n_labels_ = values["n_labels_"]
            found.check_state()
            about = list(values["about"])
            if not about:
                raise ValueError("there are no partners")
        found.partners_ = [
            cls._read_partner(folder, number, values, found.n_labels_)
            for number in range(len(about))
        ]
        return found

    @staticmethod
    def _read_partner(
        folder: Path, number: int, values: Mapping[str, Any], n_labels: int
    ) -> Partner:
        """Return one partner of a folder, whose values were read."""
        model = read_model(folder / f"partner{number}")
        with checks.reading(folder):
            name = f"labels{number}"
            labels = checks.array(name, values[name], np.int32, (model.n_labels_,))
            checks.below(name, labels, n_labels)
            views = checks.names("views", values["about"][number]["views"], model.views())
            x, y = (checks.array(f"{axis}{number}", values[f"{axis}{number}"], np.float64, (None,))
                    for axis in "xy")  # fmt: skip
            return Partner(model, views, labels, Calibration(x, y))


def doubts_of(ranking: Ranking, labels: NDArray[np.int32], n_labels: int) -> csr_array:
    """Return log(1 - p) of every named label, shape (n, n_labels), under its new number."""
    rows, places = np.nonzero(ranking.labels >= 0)
    columns = labels[ranking.labels[rows, places]]
    sure = np.minimum(ranking.scores[rows, places].astype(np.float64), 1 - 1e-12)
    return csr_array((np.log1p(-sure), (rows, columns)), shape=(len(ranking), n_labels))
