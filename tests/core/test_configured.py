import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from labelgrove import models
from labelgrove.core.configured import Configured
from labelgrove.core.errors import InputError, UnknownNameError


class Part(Configured):
    def __init__(
        self,
        width: int = 10,
        share: float = 0.5,
        lower: bool = True,
        most: int | None = None,
        inner: "Part | None" = None,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.width = width
        self.share = share
        self.lower = lower
        self.most = most
        self.inner = inner
        self.seed = seed
        self.threads = threads


def test_scikit_learn_can_clone_it_and_nest_its_settings():
    part = Part(3, inner=Part(4))
    assert clone(part).get_params()["inner__width"] == 4
    assert clone(part).inner is not part.inner
    assert not is_classifier(part)
    assert part.set_params(width=5, inner__share=0.1).inner.share == 0.1
    assert repr(part) == "Part(width=5, inner=Part(width=4, share=0.1))"


def test_fresh_copies_settings_all_the_way_down():
    part = Part(3, inner=Part(4))
    fresh = part.fresh()
    assert fresh.inner.width == 4
    assert fresh.inner is not part.inner


def test_an_unknown_setting_is_named():
    with pytest.raises(UnknownNameError, match="setting of Part 'wdth'; did you mean 'width'"):
        Part().set_params(wdth=3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": "x"}, "width must be a whole number, got 'x'"),
        ({"width": 1.5}, "a whole number"),
        ({"width": True}, "a whole number"),
        ({"share": "x"}, "share must be a number"),
        ({"lower": "False"}, "lower must be true or false, got 'False'"),
        ({"lower": 0}, "true or false"),
        ({"most": "x"}, "most must be a whole number or None"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"seed": 2**70}, "seed must be a whole number from 0"),
        ({"seed": None}, "seed"),
        ({"threads": 0}, "threads must be a whole number from 1, or None"),
        ({"threads": "x"}, "threads"),
    ],
)
def test_values_of_the_wrong_type_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Part(**settings).check_settings()


def test_values_of_the_right_type_pass():
    Part().check_settings()
    Part(np.int64(3), 1, False, 7, Part(), np.int64(3), 2).check_settings()


@pytest.mark.parametrize("name", models.names())
def test_every_setting_of_every_model_is_explained(name):
    told = models.MODELS.find(name).meanings()
    assert not [setting for setting, text in told.items() if not text or "as for `" in text]
