"""A set behind a sequence, and its reward, in numbers worked out one by one."""

import numpy as np
import pytest
import torch

from label_writers import END, START, reading, truth, writer
from labelgrove.models.neural.scorers.rewarded import RewardedScorer, f1_of

OWN = [{0, 1}, set()]


def scorer(reward):
    torch.manual_seed(3)
    found = RewardedScorer(writer(), writer(seed=7), START, 2, 3, False, 6, reward)
    return found.eval().requires_grad_(False)


def test_the_second_writer_looks_at_what_the_first_wrote():
    found, read = scorer(0.5), reading()
    both, written = found.looked_at(read), found.first.write(read, 3)
    assert torch.equal(both.vectors[:, :4], read.vectors)
    assert both.mask[:, 4:].tolist() == found.first.until_end(written).tolist()
    shown = found.shown(found.first.vectors_along(read, written))
    assert torch.allclose(both.vectors[:, 4:], shown)
    assert torch.equal(both.pooled, read.pooled)


def f1(row, own):
    labels = {label for label in row if label != END}
    total = len(labels) + len(own)
    return 2 * len(labels & own) / total if total else 1.0


@pytest.mark.parametrize("reward", [0.0, 0.25, 1.0])
def test_the_loss_by_hand(reward):
    found, read = scorer(reward), reading()
    torch.manual_seed(5)
    loss = float(found.loss(read, None, None, truth(*OWN)))
    torch.manual_seed(5)
    both = found.looked_at(read)
    true = torch.tensor([[1, 0, END], [END, END, END]])
    likely = sum(
        np.mean([*write.log_chances(seen, true, masked=True)[0].tolist(),
                 float(write.log_chances(seen, true, masked=True)[1, 0])])
        for write, seen in ((found.writer, both), (found.first, read))
    )  # fmt: skip
    wanted = -(1 - reward) * likely
    drawn, usual = found.writer.write(both, 3, drawn=True), found.writer.write(both, 3)
    chances = found.writer.log_chances(both, drawn, masked=True)
    real = found.writer.until_end(drawn)
    for text in range(2):
        gain = f1(drawn[text].tolist(), OWN[text]) - f1(usual[text].tolist(), OWN[text])
        wanted -= reward * gain * float(chances[text][real[text]].sum()) / 2
    assert np.isclose(loss, wanted, atol=1e-5)


def test_rewards_alone_find_the_right_sets():
    found, read = scorer(1.0).requires_grad_(True), reading()

    def sets():
        return [{*row} - {END} for row in found.writer.write(found.looked_at(read), 3).tolist()]

    assert sets() != OWN
    steps = torch.optim.Adam(found.parameters(), 0.02)
    torch.manual_seed(8)
    for _ in range(150):
        steps.zero_grad()
        found.loss(read, None, None, truth(*OWN)).backward()
        steps.step()
    assert sets() == OWN


def test_f1_of_sets():
    found = torch.tensor([[True, True, False], [False] * 3, [True, False, False]])
    wanted = torch.tensor([[False, True, True], [False] * 3, [False] * 3])
    assert f1_of(found, wanted).tolist() == [0.5, 1.0, 0.0]
