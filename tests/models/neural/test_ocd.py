"""Optimal completion distillation, in numbers worked out one by one."""

import numpy as np
import pytest
import torch

from label_writers import END, START, reading, truth, writer
from labelgrove.models.neural.scorers.completion import CompletionScorer, completions


def test_best_completions_are_missing_labels_or_the_end():
    write = writer()
    wanted = torch.tensor([[True, True, False], [False, False, False]])
    drawn = torch.tensor([[2, 1, 0, END], [1, END, END, END]])  # 2, and 1 of the second, are wrong
    best = completions(wanted, write.taken_before(drawn)).int().tolist()
    assert best[0] == [[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]]
    assert best[1][0] == best[1][1] == [0, 0, 0, 1]


@pytest.mark.parametrize("relevance", [0.0, 0.5])
def test_the_loss_by_hand(relevance):
    write, read = writer(), reading()
    torch.manual_seed(4)
    n_pooled = 6 if relevance else 0
    scorer = CompletionScorer(write, START, 2, 3, False, n_pooled, relevance).eval()
    scorer.requires_grad_(False)
    own = [{0, 1}, set()]
    torch.manual_seed(5)
    loss = float(scorer.loss(read, None, None, truth(*own)))
    torch.manual_seed(5)
    drawn = write.write(read, 3, drawn=True)
    chances = write.along(read, drawn, masked=True).exp().numpy()
    steps = []
    for text, row in enumerate(drawn.tolist()):
        missing = set(own[text])
        for place, label in enumerate(row):
            best = sorted(missing) or [END]
            share = 1 / len(best)
            steps.append(sum(share * np.log(share / chances[text, place, each]) for each in best))
            missing -= {label}
            if label == END:
                break
    wanted = np.mean(steps)
    if relevance:
        each = torch.sigmoid(scorer.each(read.pooled)).numpy()
        wanted -= relevance * (np.log(each[0, :2]).sum() + np.log(1 - each[0, 2])) / 2
        wanted -= relevance * np.log(1 - each[1]).sum() / 2
    assert np.isclose(loss, wanted, atol=1e-5)


def test_what_is_drawn_follows_the_probabilities():
    write, read = writer(), reading()
    first = write.step(read, write.begin(read))[0].exp()
    torch.manual_seed(6)
    drawn = torch.stack([write.write(read, 3, drawn=True)[:, 0] for _ in range(1000)])
    for text in range(2):
        shares = torch.bincount(drawn[:, text], minlength=4) / 1000
        assert torch.allclose(shares, first[text], atol=0.06)


def test_the_second_task_begins_at_the_frequency_of_labels():
    scorer = CompletionScorer(writer(), START, 2, 3, False, 6, 1.0)
    assert torch.allclose(scorer.each.bias.sigmoid(), torch.tensor([5.5, 9.5, 2.5]) / 13)
