"""Curves of learning, from histories by hand and from a real one."""

from math import exp, isnan

import pytest
from torch import nn

from labelgrove.core.errors import InputError
from labelgrove.core.types import Run
from labelgrove.evaluation import (
    compare_convergence,
    convergence,
    convergence_curve,
    mean_curve,
)
from labelgrove.models.neural.training.processes import train
from labelgrove.models.neural.training.settings import Training
from neural_stand_ins import Line


def history(*scores, every=10, pace=0.5):
    return [
        {"epoch": 0, "step": step, "seconds": pace * step, "loss": 1.0, "score": score}
        for step, score in zip(range(every, 10**6, every), scores, strict=False)
    ]


SLOW = history(0.1, 0.3, 0.38, 0.4, 0.39)
HIGH = history(0.2, 0.5, 0.7, 0.8)


def test_steps_to_a_share_of_the_own_best():
    # 0.95 of 0.4 is 0.38
    assert convergence(SLOW) == {"best": 0.4, "best-step": 40.0, "steps": 30.0, "seconds": 15.0}
    assert convergence(SLOW, share=0.5)["steps"] == 20  # 0.2
    assert convergence(SLOW, share=1)["steps"] == 40
    assert convergence(HIGH)["steps"] == 40  # 0.76: further to go, for it ends higher
    assert all(type(value) is float for value in convergence(SLOW).values())


def test_models_beside_one_another():
    best = max(convergence(each)["best"] for each in (SLOW, HIGH))
    slow, high = (convergence(each, share=0.5, best=best) for each in (SLOW, HIGH))
    assert (slow["steps"], high["steps"]) == (40, 20)  # to 0.4
    never = convergence(SLOW, best=best)  # to 0.76
    assert never["best"] == 0.4
    assert isnan(never["steps"])
    assert isnan(never["seconds"])


def test_systems_are_measured_by_what_the_baseline_learned():
    # the baseline's best are 0.4 and 0.6: the goal is half of 0.5
    bert = [SLOW, history(0.1, 0.2, 0.6)]
    laco = [history(0.3), history(0.1, 0.2)]
    found = compare_convergence({"bert": bert, "laco": laco}, "bert", share=0.5)
    assert found["bert"] == {
        "best": 0.5, "reached": 1.0, "steps": 25.0, "seconds": 12.5, "speed": 1.0,
    }  # fmt: skip
    assert found["laco"] == {  # one of two, after 10 steps
        "best": 0.25, "reached": 0.5, "steps": 10.0, "seconds": 5.0, "speed": 2.5,
    }  # fmt: skip
    never = compare_convergence({"bert": bert, "laco": [history(0.1)]}, "bert")["laco"]
    assert never["reached"] == 0
    assert isnan(never["steps"])
    assert isnan(never["speed"])
    once = compare_convergence({"bert": [iter(SLOW)]}, "bert")  # a history is read once
    assert once["bert"]["steps"] == 30
    with pytest.raises(InputError, match="unknown system 'bret'"):
        compare_convergence({"bert": bert}, "bret")
    with pytest.raises(InputError, match="'laco' has no training"):
        compare_convergence({"bert": bert, "laco": []}, "bert")


def test_the_mean_of_curves_is_over_the_steps_of_all():
    curves = [convergence_curve(each) for each in (SLOW, HIGH, history(0.4, 0.6, 0.8, every=15))]
    mean = mean_curve(curves)
    assert mean.steps.tolist() == [15, 20, 30, 40]  # all have one before, and one until 40
    assert mean.scores.tolist() == pytest.approx(
        [
            (0.2 + 0.35 + 0.4) / 3,
            (0.3 + 0.5 + 0.4 + 0.2 / 3) / 3,
            (0.38 + 0.7 + 0.6) / 3,
            (0.4 + 0.8 + 0.8 - 0.2 / 3) / 3,
        ]
    )
    assert mean.seconds.tolist() == pytest.approx([7.5, 10.0, 15.0, 20.0])
    assert mean_curve(curves[:1]).scores.tolist() == curves[0].scores.tolist()
    with pytest.raises(InputError, match="first evaluated at step 60, another last at step 50"):
        mean_curve([curves[0], convergence_curve(history(0.4, every=60))])


@pytest.mark.parametrize("scores", [(0.0, 0.0), (-0.2, -0.1)])
def test_nothing_was_learned(scores):
    assert isnan(convergence(history(*scores))["steps"])


def test_networks_trained_before_count_as_steps_but_their_scores_do_not():
    # two levels above, the second evaluated as often, the last with a score of its own
    curve = convergence_curve([*history(0.9, 0.95), *history(0.8), *history(0.3, 0.4)])
    assert curve.steps.tolist() == [40, 50]  # after 20 and 10
    assert curve.seconds.tolist() == [20.0, 25.0]
    assert curve.scores.tolist() == [0.3, 0.4]
    assert convergence([*history(0.9, 0.95), *history(0.3, 0.4)], share=0.5)["steps"] == 30


def test_a_real_history():
    class Nearness(Line):
        def score(self, network):
            return exp(super().score(network))

    settings = Training(epochs=3, evaluate_every=2, learning_rate=0.1, device="cpu")
    events = train(nn.Linear(1, 1), Nearness(), settings, Run(), {})
    curve = convergence_curve(events)
    assert curve.steps.tolist() == [2, 4, 5, 7, 9, 10, 12, 14, 15]  # five batches an epoch
    found = convergence(events, share=1)
    assert found["best"] == max(event["score"] for event in events)
    assert found["steps"] == found["best-step"] == curve.steps[curve.scores.argmax()]


@pytest.mark.parametrize(
    "events", [[], [{"epoch": 0, "step": 5, "seconds": 1.0, "loss": 0.2}]], ids=["none", "unscored"]
)
def test_nothing_was_held_out(events):
    with pytest.raises(InputError, match="no validation score"):
        convergence_curve(events)


@pytest.mark.parametrize("share", [0, -0.5, 1.1, float("nan")])
def test_wrong_shares(share):
    with pytest.raises(InputError, match="share must be above 0"):
        convergence(SLOW, share=share)


def test_curves_with_one_step_in_common():
    early, late = convergence_curve(history(0.2, 0.4)), convergence_curve(history(0.6, every=20))
    mean = mean_curve([early, late])
    assert (mean.steps.tolist(), mean.scores.tolist()) == ([20], [pytest.approx(0.5)])
