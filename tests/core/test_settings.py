"""Declared settings: bounds, choices, inheritance, and what scikit-learn asks for."""

import inspect
import re
from typing import Literal

import numpy as np
import pytest
from sklearn.base import clone

from labelgrove.core.configured import Configured
from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.estimator import Classifier
from labelgrove.core.ranges import Whole
from labelgrove.core.settings import POWER_OF_TWO, Rule, setting, sizes


class Search(Configured):
    """Looks for something.

    Attributes
    ----------
    found_
        What was found.
    """

    beam: int = setting(10, "Nodes kept per level.", least=1, search=Whole(5, 30))
    share: float = setting(0.5, "Share of the documents.", above=0, below=1)
    cost: float | None = setting(None, "Weight of the errors.", least=0, most=10)
    way: Literal["wide", "deep"] = setting("wide", "Which nodes come first.")
    heads: int = setting(8, "Attention heads.", rule=POWER_OF_TWO)
    layers: list[int] | None = setting(None, "Layers.", rule=sizes([8, 4]))
    lower: bool = setting(True, "Fold to lower case.")
    file: str = setting("", "A file.")
    step = setting(1.0, "Without an annotation.", least=0)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("beam", 0, "beam must be a whole number from 1, got 0"),
        ("beam", 1.0, "beam must be a whole number from 1, got 1.0"),
        ("beam", True, "beam must be a whole number from 1, got True"),
        ("beam", None, "beam must be a whole number from 1, got None"),
        ("share", 0, "share must be a number above 0, below 1, got 0"),
        ("share", 1.0, "share must be a number above 0, below 1, got 1.0"),
        ("share", float("nan"), "got nan"),
        ("share", np.float32("inf"), "below 1, got np.float32(inf)"),
        ("cost", 10.1, "cost must be a number from 0 to 10, or None, got 10.1"),
        ("cost", "x", "cost must be a number from 0 to 10, or None, got 'x'"),
        ("cost", 10**400, "cost must be a number from 0 to 10, or None, got 1000"),
        ("way", "long", "way must be 'wide' or 'deep', got 'long'"),
        ("way", ["wide"], "way must be 'wide' or 'deep', got"),
        ("heads", 3, "heads must be a power of two, such as 8, got 3"),
        ("heads", "8", "heads must be a power of two, such as 8, got '8'"),
        (
            "layers",
            [8, 0],
            "layers must be a list of whole numbers from 1, such as [8, 4], or None",
        ),
        ("layers", "8", "layers must be a list"),
        ("lower", "yes", "lower must be true or false, got 'yes'"),
        ("file", 3, "file must be a string, got 3"),
        ("step", -1, "step must be a number from 0, got -1"),
        ("step", "x", "step must be a number from 0, got 'x'"),
    ],
)
def test_what_is_not_allowed_is_refused(name, value, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Search(**{name: value}).check_settings()


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(InputError) as error:
        Search(way="x" * 10_000).check_settings()
    assert len(str(error.value)) < 150


def test_what_is_allowed_passes():
    Search().check_settings()
    Search(beam=np.int64(1), share=np.float32(0.5), cost=10, layers=[3, 2]).check_settings()
    Search(cost=0, way="deep", heads=2, lower=np.bool_(False), step=3).check_settings()


def test_settings_are_keyword_arguments_with_defaults():
    search = Search(beam=3)
    assert (search.beam, search.share, Search.beam) == (3, 0.5, 10)
    assert search.get_params()["beam"] == 3
    assert repr(search) == "Search(beam=3)"
    assert list(inspect.signature(Search).parameters)[:2] == ["beam", "share"]
    with pytest.raises(TypeError, match="Search has no setting 'beem'"):
        Search(beem=3)
    with pytest.raises(UnknownNameError, match="did you mean 'beam'"):
        search.set_params(beem=3)


def test_scikit_learn_clones_it():
    search = Search(beam=3, cost=1.5)
    assert clone(search).get_params() == search.get_params()
    assert clone(search) is not search
    assert search.fresh().set_params(beam=4).beam == 4
    assert search.beam == 3


def test_what_is_known_about_settings():
    assert Search.defaults()["way"] == "wide"
    assert Search.meanings()["beam"] == "Nodes kept per level."
    assert Search.ranges() == {"beam": Whole(5, 30)}
    assert Search.settings()["beam"].words == "a whole number from 1"


# --- inheritance --------------------------------------------------------------------------------


class Narrow(Search):
    """A search that keeps fewer nodes."""

    depth: int = setting(2, "Levels.", least=1)
    beam = 5
    share: float = setting(0.1, "Share of the labels.")
    cost: float = setting(1.0, above=0)


def test_a_subclass_changes_defaults_or_declares_again():
    assert (Narrow().beam, Narrow().share, Search().beam) == (5, 0.1, 10)
    known = Narrow.settings()
    assert (known["beam"].help, known["beam"].least) == ("Nodes kept per level.", 1)
    assert (known["share"].help, known["share"].below) == ("Share of the labels.", 1)
    assert known["cost"].words == "a number above 0, up to 10"
    with pytest.raises(InputError, match="beam must be a whole number from 1"):
        Narrow(beam=0).check_settings()
    with pytest.raises(InputError, match="cost must be a number above 0"):
        Narrow(cost=None).check_settings()


def test_own_settings_come_first():
    assert Narrow.setting_names()[:3] == ["depth", "beam", "share"]


def test_of_two_bases_the_first_that_says_something_counts():
    class Wider(Search):
        beam = 50

    class Other(Search):
        lower = False

    class Both(Other, Wider):
        pass

    assert (Both().beam, Both().lower) == (50, False)
    assert (Both.beam, Both.defaults()["beam"]) == (50, 50)


# --- plugins ------------------------------------------------------------------------------------


class Fading(Classifier):
    """A plugin whose names of settings other models have too, with other bounds."""

    decay: float = setting(0.9, "Weight of an older document.", above=0, most=1)
    beam: float = setting(-0.5, "Something else.", most=0)

    def _fit(self, X, Y, context): ...

    def _rank(self, X, k): ...


class Constructed(Classifier):
    """A plugin with a constructor.

    Parameters
    ----------
    decay
        Weight of an older document.
    """

    def __init__(self, decay=0.9, cost: int | None = None, *, seed=0, threads=None):
        self.decay = decay
        self.cost = cost
        self.seed = seed
        self.threads = threads

    def _fit(self, X, Y, context): ...

    def _rank(self, X, k): ...


class Extended(Fading):
    """Takes the declared settings of its base as well."""

    def __init__(self, power: int = 2, **settings):
        super().__init__(**settings)
        self.power = power


def test_a_plugins_settings_have_its_own_rules_only():
    Fading().check_settings()
    Constructed().check_settings()
    Constructed(decay="slow", cost=-3).check_settings()
    assert Fading.setting_names() == ["decay", "beam", "seed", "threads"]
    with pytest.raises(InputError, match=r"decay must be a number above 0, up to 1, got 1.5"):
        Fading(decay=1.5).check_settings()


def test_a_plugin_may_have_a_constructor():
    assert Constructed.setting_names() == ["decay", "cost", "seed", "threads"]
    assert Constructed.meanings()["decay"] == "Weight of an older document."
    assert clone(Constructed(decay=0.5)).decay == 0.5
    assert next(iter(inspect.signature(Constructed).parameters)) == "decay"
    with pytest.raises(InputError, match="cost must be a whole number or None, got 'x'"):
        Constructed(cost="x").check_settings()
    with pytest.raises(InputError, match="threads must be a whole number from 1, or None"):
        Constructed(threads=0).check_settings()


def test_a_constructor_may_pass_declared_settings_on():
    assert {*Extended.setting_names()} == {"power", "decay", "beam", "seed", "threads"}
    assert clone(Extended(power=3, decay=0.5)).get_params()["decay"] == 0.5
    with pytest.raises(InputError, match="decay"):
        Extended(decay=2.0).check_settings()


def test_every_classifier_has_seed_and_threads():
    with pytest.raises(
        InputError, match=r"seed must be a whole number from 0 to 2\^63 - 1, got -1"
    ):
        Fading(seed=-1).check_settings()
    Fading(threads=np.int64(2)).check_settings()


# --- docstrings ---------------------------------------------------------------------------------


def test_the_docstring_has_the_settings_before_attributes():
    text = inspect.getdoc(Search)
    assert text.index("Parameters\n----------\nbeam\n    Nodes kept per level.") < text.index(
        "Attributes"
    )
    assert "Allowed: a whole number from 1. Default: 10." in text
    assert "depth\n    Levels." in inspect.getdoc(Narrow)
    assert inspect.getdoc(Constructed).count("Parameters") == 1


def test_a_docstring_with_parameters_stays_as_it_is():
    class Described(Configured):
        """Something.

        Parameters
        ----------
        width
            Its width.
        """

        width: int = setting(3, "In metres.")

    assert "Its width." in Described.__doc__
    assert "In metres." not in Described.__doc__


def test_a_rule_may_judge_any_value():
    class Named(Configured):
        names: list = setting(
            ("a",), "Names.", rule=Rule(lambda names: len(names) > 0, "one name or more")
        )

    Named(names=["b"]).check_settings()
    with pytest.raises(InputError, match=r"names must be one name or more, got \[\]"):
        Named(names=[]).check_settings()


@pytest.mark.parametrize("value", [2**62 + 1, -(2**63), 10**40])
def test_whole_numbers_that_fit_no_array_are_refused(value):
    class Wide(Configured):
        width: int = setting(3, "In metres.")

    Wide(width=2**62).check_settings()
    with pytest.raises(InputError, match=r"width must be a whole number, and no more than 2\^62"):
        Wide(width=value).check_settings()
