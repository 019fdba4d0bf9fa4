"""One sentence on who is better: numbers by hand, systems of several trainings."""

import numpy as np
import pytest

from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import Decision, Difference
from labelgrove.labels import LabelSpace
from labelgrove.report.contestants import Contestant
from labelgrove.report.luck import better_by, points
from labelgrove.report.verdict import judge, systems_of

N = 400
SPACE = LabelSpace(["a"], [1], 1)


def contestant(name, training="", seed=0, chosen=""):
    ranking = Ranking(np.zeros((1, 1), np.int32), np.ones((1, 1), np.float32))
    return Contestant(
        *(name, "made", SPACE, ranking, Decision(threshold=0.5), 0.1),
        training=training,
        chosen=chosen,
        seed=seed,
    )


def drawn(*runs):
    """Return the scores of runs, (n,) each, and samples of the documents, the same for all."""
    random = np.random.default_rng(0)
    weights = random.multinomial(N, np.full(N, 1 / N), size=500) / N
    return [float(run.mean()) for run in runs], [weights @ run for run in runs]


def right(n):
    """A tagger that is right about the first n documents."""
    return (np.arange(N) < n).astype(float)


def sentence(names, *runs, metric="P@1", documents=N):
    asked = [contestant(name) for name in names]
    return judge(metric, asked, *drawn(*runs), documents).sentence


def test_who_is_better_by_how_much():
    said = sentence(["new", "old"], right(250), right(200))
    assert said.startswith("new is better than old by 12.5 points P@1 (95% interval ")
    assert said.endswith(
        "): more than luck of the test documents; each was trained once, so luck of training is "
        "not covered"
    )
    assert sentence(["old", "new"], right(200), right(250)) == said


def test_what_may_be_luck():
    said = sentence(["new", "old"], right(202), right(200))
    assert said.startswith("new is ahead of old by 0.5 points P@1 (95% interval +0.0 to +")
    assert ", which may be luck of the test documents; each was trained once" in said
    assert sentence(["a", "b"], right(9), right(9)) == "a and b are equal by P@1"


def test_a_loss_is_better_if_it_is_small():
    said = sentence(["new", "old"], right(100), right(200), metric="hamming-loss")
    assert said.startswith("new is better than old by 25.0 points hamming-loss (95% interval 2")
    assert better_by("hamming-loss", Difference(-0.2, -0.3, -0.1, 0.01)) == (0.2, 0.1, 0.3, 0.01)


def test_the_best_of_several_is_compared_with_the_next():
    asked = [contestant(name) for name in ("low", "best", "next")]
    found = judge("P@1", asked, *drawn(right(100), right(300), right(250)), N)
    assert found.sentence.startswith("best is the best of 3, ahead of next by 12.5 points P@1")
    assert [each.other for each in found.gaps] == ["next", "low"]
    record = found.record()
    assert record["best"] == "best"
    assert record["ahead_of"][1]["value"] == pytest.approx(0.5)
    assert record["training_spread"] is None


def test_few_documents_tell_nothing():
    said = sentence(["a", "b"], right(9), right(0), documents=5)
    assert said == "5 documents cannot tell which is better by P@1, it takes 6"


def test_trainings_of_one_system_are_those_that_differ_by_the_seed():
    asked = [
        contestant("slow-1", "x", 1),
        contestant("fast-0", "y", 0),
        contestant("slow-2", "x", 2),
        contestant("twin", "z", 0),
        contestant("other", "z", 0),
        contestant("old"),
    ]
    assert systems_of(asked) == {
        **{"slow": [0, 2], "fast-0": [1], "twin": [3], "other": [4], "old": [5]}
    }
    unlike = [contestant("a", "x", 1), contestant("b", "x", 2), contestant("c", "x", 3)]
    assert systems_of(unlike) == {"made (a, b, c)": [0, 1, 2]}
    many = [contestant(name, "x", seed) for seed, name in enumerate("abcd")]
    assert systems_of(many) == {"made (a and 3 more)": [0, 1, 2, 3]}


def test_a_system_has_no_name_of_a_single_tagger():
    asked = [contestant("old", "x", 1), contestant("old-2", "x", 2), contestant("old-3", "y")]
    assert systems_of(asked) == {"made (old, old-2)": [0, 1], "old-3": [2]}
    twice = [contestant(f"x-{i}", "ab"[i // 2], i) for i in range(4)]
    assert systems_of(twice) == {"x": [0, 1], "made (x-2, x-3)": [2, 3]}


def test_what_training_chose_by_itself_does_not_divide_a_system():
    choices = ("stems", "words", "words")
    asked = [contestant(f"new-{seed}", "x", seed, chosen) for seed, chosen in enumerate(choices)]
    assert systems_of(asked) == {"new": [0, 1, 2]}
    given = [
        contestant(f"{chosen}-{seed}", "x", seed, chosen)
        for chosen in ("stems", "words")
        for seed in (1, 2)
    ]
    assert systems_of(given) == {"stems": [0, 1], "words": [2, 3]}, "the same seeds: not by luck"


def test_the_trainings_of_each_system_are_counted():
    asked = [
        contestant(f"{x}-{seed}", x, seed) for x, n in ("a1", "b2", "c3") for seed in range(int(n))
    ]
    runs = [right(300)] + [right(200), right(202)] + [right(100)] * 3
    said = judge("P@1", asked, *drawn(*runs), N).sentence
    assert said.endswith("of training (1, 2 and 3 trainings with other seeds)")


def test_seeds_that_lie_apart_make_a_lead_luck():
    """The means differ by 10 points; trainings by 10 too, or hardly."""
    asked = [contestant(f"{x}-{seed}", x, seed) for x in ("new", "old") for seed in (0, 1)]
    steady = judge("P@1", asked, *drawn(right(240), right(240), right(200), right(200)), N)
    assert list(steady.systems) == ["new", "old"]
    assert steady.sentence.endswith(
        ": more than luck of the test documents and of training (2 trainings of each with other "
        "seeds)"
    )
    everywhere = [np.full(N, value) for value in (0.65, 0.55, 0.55, 0.45)]
    apart = judge("P@1", asked, *drawn(*everywhere), N)
    assert apart.luck.spread == pytest.approx(np.sqrt(0.005))
    assert apart.luck.degrees == 2
    assert "which may be luck of the test documents and of training" in apart.sentence
    # Student's t of 2 degrees: 0.1 +- 4.303 * sqrt(0.005 * (1/2 + 1/2)), the ends a little uneven
    gap = apart.gaps[0].gap
    assert (gap.value, gap.high - gap.low) == (pytest.approx(0.1), pytest.approx(0.609, rel=0.1))
    alone = judge("P@1", asked[:2], *drawn(*everywhere[:2]), N)
    assert alone.sentence == "new: 2 trainings with other seeds, P@1 55.0 to 65.0"


def test_differences_in_words():
    assert points("P@1", Difference(0.012, -0.004, 0.02, 0.3)) == (
        "1.2 points P@1 (95% interval -0.4 to +2.0)"
    )
