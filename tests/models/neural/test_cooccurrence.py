"""LACO's two tasks: what is drawn, and what it costs."""

import math

import numpy as np
import pytest
import torch

from labelgrove.models.neural.scorers.cooccurrence import (
    GivenTask,
    PairHead,
    PairTask,
    draw_given,
    draw_pairs,
    pair_share,
)

# one label, all labels, none, two of four, one place that is no label
TRUE = torch.tensor(
    [[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0]], dtype=torch.bool
)
REAL = torch.ones(5, 4, dtype=torch.bool)
REAL[4, 0] = False


def drawn(n=400, ratio=0.5):
    torch.manual_seed(0)
    return [draw_pairs(TRUE, REAL, ratio) for _ in range(n)]


def test_pairs_are_of_the_texts_own_labels_or_of_one_and_another():
    for rows, one, two, together in drawn():
        assert rows.tolist() == [0, 1, 3, 4]  # a text without labels has no pair
        for row, a, b, both in zip(
            *map(torch.Tensor.tolist, (rows, one, two, together)), strict=True
        ):
            assert a != b
            assert REAL[row, a]
            assert REAL[row, b]
            assert TRUE[row, a]
            assert TRUE[row, b] == both


def test_a_text_with_one_label_has_only_others_and_one_with_all_only_its_own():
    assert not any(each.together[0] for each in drawn())
    assert all(each.together[1] for each in drawn())


def test_the_ratio_is_that_of_pairs_that_occur_together_to_others():
    share = np.mean([each.together[2].item() for each in drawn(2000)])
    assert abs(share - 1 / 3) < 0.04  # 0.5 to 1; the standard error is 0.011
    share = np.mean([each.together[2].item() for each in drawn(2000, ratio=3.0)])
    assert abs(share - 0.75) < 0.04


def test_every_pair_can_be_drawn():
    seen = {(each.one[2].item(), each.two[2].item()) for each in drawn()}
    assert seen == {(0, 2), (2, 0), (0, 1), (0, 3), (2, 1), (2, 3)}


def test_one_label_alone_has_no_pair_at_all():
    rows, *_ = draw_pairs(torch.ones(2, 1, dtype=torch.bool), torch.ones(2, 1, dtype=torch.bool), 1)
    assert len(rows) == 0


def test_given_labels_are_the_texts_own_and_as_many_as_there_are():
    torch.manual_seed(0)
    seen = set()
    for _ in range(50):
        given = draw_given(TRUE, REAL, 2)
        assert not (given & ~TRUE).any()
        assert not (given & ~REAL).any()
        assert given.sum(1).tolist() == [1, 2, 0, 2, 2]
        seen.add(tuple(given[1].nonzero()[:, 0].tolist()))
    assert len(seen) == 6


def entropy(odds, true):
    return math.log1p(math.exp(-odds if true else odds))


def test_the_loss_of_a_pair_by_hand():
    """Equation 5 for two texts with one pair each: both labels, or one of two."""
    labels = torch.tensor([[[1.0], [10.0]], [[2.0], [20.0]]])
    true = torch.tensor([[True, True], [True, False]])
    task = PairTask(1)
    with torch.no_grad():
        task.head.one.weight[:] = 0.1  # the order of a pair does not matter
        task.head.other.weight[:], task.head.other.bias[:] = 0.1, -1.0
    found = task.loss(labels, true, torch.ones_like(true)).item()
    assert np.isclose(found, entropy(0.1, True) + entropy(1.2, False))


def test_the_loss_of_labels_given_others_by_hand():
    """Equation 6: one label is given and not asked for, a text without labels costs nothing."""
    labels = torch.tensor([[[1.0], [2.0], [4.0]], [[1.0], [2.0], [4.0]]])
    true = torch.tensor([[False, True, False], [False, False, False]])
    real = torch.tensor([[True, True, True], [True, True, True]])
    task = GivenTask(1)
    with torch.no_grad():
        task.head.one.weight[:] = 0.5
        task.head.other.weight[:], task.head.other.bias[:] = -1.0, 0.25
    found = task.loss(labels, true, real).item()
    # the given label adds 0.5 * 2
    assert np.isclose(found, entropy(1.0 - 1.0 + 0.25, False) + entropy(1.0 - 4.0 + 0.25, False))
    real[0, 2] = False
    assert np.isclose(task.loss(labels, true, real).item(), entropy(0.25, False))


def test_the_mean_of_several_given_labels_counts():
    labels = torch.tensor([[[1.0], [3.0], [5.0]]])
    true = torch.tensor([[True, True, False]])
    task = GivenTask(1, n_given=2)
    with torch.no_grad():
        task.head.one.weight[:] = 1.0
        task.head.other.weight[:], task.head.other.bias[:] = 0.0, 0.0
    found = task.loss(labels, true, torch.ones_like(true)).item()
    assert np.isclose(found, entropy(2.0, False))


def test_the_share_of_pairs_that_occur_together_is_that_of_the_draws():
    sizes = TRUE[:4].sum(1).numpy()  # the first four texts, in which all places are labels
    for ratio in (0.5, 3.0):
        each = torch.cat([draw_pairs(TRUE[:4], REAL[:4], ratio).together for _ in range(2000)])
        drawn = pair_share(np.tile(sizes, 1000), 4, ratio)
        assert drawn == pytest.approx(each.float().mean().item(), abs=0.02)
    # 1, 4 and 2 of 4 labels: never, always and one time in three
    assert pair_share(np.tile(sizes, 10**5), 4, 0.5) == pytest.approx((0 + 1 + 1 / 3) / 3, abs=1e-4)
    for extreme in ([0, 0], [1, 1], [4, 4]):
        assert 0 < pair_share(np.array(extreme), 4, 0.5) < 1


@pytest.mark.parametrize("head", ["additive", "bilinear"])
def test_tasks_start_at_what_is_known_without_the_text(head):
    """Pairs at their share, labels at their own log odds, whatever the vectors are."""
    torch.manual_seed(0)
    labels = torch.randn(1, 3, 8)
    true, real = torch.tensor([[True, False, False]]), torch.ones(1, 3, dtype=torch.bool)
    pairs = PairTask(8, head=head, share=0.2)
    assert pairs.loss(labels, true, real).item() == pytest.approx(-math.log(0.8))
    odds = torch.tensor([[0.3, -1.0, -2.0]])
    given = GivenTask(8, head=head, starts=True)
    wanted = entropy(-1.0, False) + entropy(-2.0, False)
    assert given.loss(labels, true, real, odds).item() == pytest.approx(wanted)
    # as published they start with random weights, and know of no log odds
    published = GivenTask(8, head=head)
    same = published.loss(labels, true, real).item()
    assert published.loss(labels, true, real, odds).item() == same
    assert same != pytest.approx(wanted, abs=1e-3)


def test_a_bilinear_head_by_hand():
    head = PairHead(2, "bilinear", rank=2)
    with torch.no_grad():
        head.one.weight[:], head.other.weight[:] = torch.tensor([[1.0, 0.0]]), 0.0
        head.other.bias[:] = 0.5
        head.left.weight[:] = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
        head.right.weight[:] = torch.tensor([[0.0, 3.0], [1.0, 0.0]])
    found = head(torch.tensor([1.0, 2.0]), torch.tensor([[5.0, 7.0], [0.0, 0.0]]))
    # left is (1, 4), right (21, 5): 1 + 0.5 + the mean of 21 and 20
    assert found.tolist() == [22.0, 1.5]


def learned(head):
    """Return the loss of CLCP after learning from labels 0 and 1, or 2 and 3, but never others."""
    torch.manual_seed(0)
    labels = torch.eye(4).expand(8, -1, -1)  # vectors that the text has not changed
    true = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 1]] * 4, dtype=torch.bool)
    task = GivenTask(4, head=head, starts=True)
    optimizer = torch.optim.Adam(task.parameters(), 0.1)
    odds, real = torch.zeros(8, 4), torch.ones(8, 4, dtype=torch.bool)
    for _ in range(150):
        optimizer.zero_grad()
        loss = task.loss(labels, true, real, odds) / (8 * 3)  # three labels that are not given
        loss.backward()
        optimizer.step()
    return loss.item()


def test_only_a_bilinear_head_can_tell_by_itself_which_labels_occur_together():
    # an additive one knows no more than that one of three others is true
    assert learned("additive") > 0.9 * (-math.log(1 / 3) - 2 * math.log(2 / 3)) / 3
    assert learned("bilinear") < 0.1
