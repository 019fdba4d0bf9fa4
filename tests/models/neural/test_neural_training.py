"""The loop and what it is made of."""

import json

import numpy as np
import pytest
import torch
from torch import nn

from labelgrove.core.errors import GivenUpError, InputError, LabelgroveError
from labelgrove.core.features import TokenSequences
from labelgrove.core.types import Run
from labelgrove.models.neural.training import checkpoint
from labelgrove.models.neural.training.averaging import Averaged
from labelgrove.models.neural.training.batches import (
    bucketed,
    by_length,
    padded,
    padding_share,
)
from labelgrove.models.neural.training.clipping import Clipping
from labelgrove.models.neural.training.devices import open_fabric
from labelgrove.models.neural.training.loop import DivergedError
from labelgrove.models.neural.training.optimizers import new_optimizers, rate_at
from labelgrove.models.neural.training.processes import train
from labelgrove.models.neural.training.settings import Training
from neural_stand_ins import Line

# --- batches ------------------------------------------------------------------------------------


def test_bucketed_batches_hold_every_document_once_and_little_padding():
    rng = np.random.default_rng(0)
    lengths = np.minimum(rng.geometric(1 / 60, 5000), 500)
    batches = bucketed(lengths, 40, rng)
    assert sorted(np.concatenate(batches)) == list(range(5000))
    assert all(len(rows) <= 40 for rows in batches)
    assert padding_share(lengths, batches) < 0.1
    plain = np.split(rng.permutation(5000), range(40, 5000, 40))
    assert padding_share(lengths, plain) > 0.5, "without buckets most would be padding"


def test_bucketed_order_is_new_every_time_and_the_same_for_a_seed():
    lengths = np.arange(1, 301)
    first, again = (bucketed(lengths, 10, np.random.default_rng(3)) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    other = bucketed(lengths, 10, np.random.default_rng(4))
    assert any(not np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_padded():
    X = TokenSequences(np.array([4, 5, 6, 7]), np.array([0, 3, 3, 4]), 8)
    tokens, lengths = padded(X, np.array([2, 0, 1]))
    assert tokens.tolist() == [[7, 0, 0], [4, 5, 6], [0, 0, 0]]
    assert lengths.tolist() == [1, 3, 1]


def test_by_length_begins_with_the_shortest():
    batches = by_length(np.array([3, 1, 2]), 2)
    assert [rows.tolist() for rows in batches] == [[1, 2], [0]]


# --- clipping -----------------------------------------------------------------------------------


def gradients(*values):
    parameters = [nn.Parameter(torch.zeros(len(value))) for value in values]
    for parameter, value in zip(parameters, values, strict=True):
        parameter.grad = torch.tensor(value)
    return parameters


def test_fixed_bound():
    parameters = gradients([3.0], [0.0, 4.0])
    assert Clipping(1.0, None)(parameters) == pytest.approx(5)
    np.testing.assert_allclose(parameters[0].grad, [0.6])
    np.testing.assert_allclose(parameters[1].grad, [0, 0.8], rtol=1e-6)


def test_bound_relative_to_the_last_five():
    clipping = Clipping(None, 3.0)
    for norm in (0.1, 9.0, 0.1, 0.1, 0.1):
        free = gradients([norm])
        clipping(free)
        np.testing.assert_allclose(free[0].grad, [norm], err_msg="the first five are free")
    assert list(clipping.recent) == pytest.approx([0.1, 1.0, 0.1, 0.1, 0.1]), "9 counts as 1"
    long = gradients([100.0])
    clipping(long)
    np.testing.assert_allclose(long[0].grad, [3.0])


def test_a_long_gradient_is_remembered_as_twice_the_longest_before():
    clipping = Clipping(None, 5.0)
    for norm in (0.1, 0.1, 0.1, 0.1, 0.1, 100.0):
        clipping(gradients([norm]))
    assert clipping.recent[-1] == pytest.approx(0.2)
    assert clipping.bound() == pytest.approx(1.0)


def test_sparse_gradients_count_a_repeated_word_once():
    words = nn.Embedding(5, 2, sparse=True)
    words(torch.tensor([3, 3, 1])).sum().backward()
    assert Clipping(None, None)([words.weight]) == pytest.approx(np.sqrt(2 * 4 + 2 * 1))


def test_biases_and_norms_do_not_decay():
    network = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))
    (optimizer,) = new_optimizers(network, Training(weight_decay=0.1))
    decays = {p: group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    assert [decays[p] for p in network.parameters()] == [0.1, 0.0, 0.0, 0.0]


# --- averaging and rates ------------------------------------------------------------------------


def test_average_of_weights():
    network = nn.Linear(1, 1, bias=False)
    average = Averaged(network)
    for value in (1.0, 2.0, 6.0):
        nn.init.constant_(network.weight, value)
        average.add()
    with average.swapped_in():
        assert network.weight.item() == pytest.approx(3)
    assert network.weight.item() == 6


def test_no_average_leaves_the_weights():
    network = nn.Linear(1, 1)
    before = network.weight.item()
    with Averaged(network).swapped_in():
        assert network.weight.item() == before


@pytest.mark.parametrize(
    ("schedule", "wanted"),
    [("constant", [1, 1, 1]), ("linear", [1, 0.5, 0.1]), ("cosine", [1, 0.5, 0.0245])],
)
def test_schedules(schedule, wanted):
    found = [rate_at(step, 10, Training(schedule=schedule)) for step in (0, 5, 9)]
    np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_words_learn_by_sparse_adam():
    network = nn.Sequential(nn.Embedding(4, 2, sparse=True), nn.Linear(2, 1))
    kinds = [type(optimizer).__name__ for optimizer in new_optimizers(network, Training())]
    assert kinds == ["Adam", "SparseAdam"]


# --- the loop -----------------------------------------------------------------------------------


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(1, 16), nn.Dropout(0.2), nn.ReLU(), nn.Linear(16, 1))


SETTINGS = Training(epochs=6, learning_rate=0.02, average_from=3, device="cpu", threads=1)


def fit(objective, folder=None, resume=False, settings=SETTINGS):
    learned = network()
    torch.manual_seed(1)
    history = train(learned, objective, settings, Run(folder=folder, resume=resume), {"model": "x"})
    return [value.clone() for value in learned.state_dict().values()], history


def plain(history):
    return [{key: value for key, value in event.items() if key != "seconds"} for event in history]


def assert_same(found, wanted):
    assert all(torch.equal(a, b) for a, b in zip(found[0], wanted[0], strict=True))
    assert plain(found[1]) == plain(wanted[1])


def test_it_learns():
    _, history = fit(
        Line(), settings=Training(epochs=60, learning_rate=0.02, device="cpu", threads=1)
    )
    assert history[-1]["score"] > 0.1 * history[0]["score"], "scores are errors below 0"


@pytest.mark.parametrize("stop_at", [1, 4, 5, 13, 29])
def test_interrupt_and_resume_give_what_one_run_gives(stop_at, tmp_path):
    whole = fit(Line())
    first = Line()
    first.stop_at = stop_at
    with pytest.raises(KeyboardInterrupt):
        fit(first, tmp_path)
    assert len(first.seen) == stop_at, "the step was finished, and no other begun"
    second = Line()
    assert_same(fit(second, tmp_path, resume=True), whole)
    assert len(first.seen) + len(second.seen) == 30
    written = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert plain(written) == plain(whole[1])


def test_a_resumed_training_knows_the_last_gradients(tmp_path):
    """Half of the longest recent gradient is allowed: every step depends on those before it."""
    settings = SETTINGS.fresh().set_params(clip_recent=0.5)
    whole = fit(Line(), settings=settings)
    first = Line()
    first.stop_at = 13
    with pytest.raises(KeyboardInterrupt):
        fit(first, tmp_path, settings=settings)
    assert_same(fit(Line(), tmp_path, resume=True, settings=settings), whole)


def test_a_checkpoint_at_every_step_changes_nothing(tmp_path):
    often = SETTINGS.fresh().set_params(checkpoint_minutes=0.0)
    assert_same(fit(Line(), tmp_path, settings=often), fit(Line()))
    assert len(list(tmp_path.glob("checkpoint-*"))) == 1


def test_resume_of_a_finished_training_learns_no_more(tmp_path):
    whole = fit(Line(), tmp_path)
    again = Line()
    assert_same(fit(again, tmp_path, resume=True), whole)
    assert again.seen == []


class GoodStart(Line):
    """Says that it is best before it has learned anything."""

    scores_start = True

    def score(self, network):
        return 1.0 if not self.seen else super().score(network)


def test_a_start_that_nothing_beats_is_kept_also_after_a_resume(tmp_path):
    weights, history = fit(GoodStart())
    assert all(map(torch.equal, weights, network().state_dict().values()))
    assert (history[0]["step"], history[0]["score"]) == (0, 1.0)
    assert all("loss" in event for event in history[1:])
    first = GoodStart()
    first.stop_at = 13
    with pytest.raises(KeyboardInterrupt):
        fit(first, tmp_path)
    assert_same(fit(GoodStart(), tmp_path, resume=True), (weights, history))


def test_the_start_has_no_part_in_an_average():
    """Averaging begins with the first epoch: its first mean is what the first steps gave."""
    settings = Training(epochs=1, average_from=0, learning_rate=0.02, device="cpu", threads=1)
    (found, _), (wanted, _) = (fit(each, settings=settings) for each in (Start(), Line()))
    assert all(map(torch.equal, found, wanted))


class Start(Line):
    """Is scored before its first step, when it is bad."""

    scores_start = True


def test_patience_counts_epochs():
    settings = Training(epochs=50, learning_rate=0.0, patience=3, device="cpu", evaluate_every=2)
    _, history = fit(Line(), settings=settings)
    steps = len(Line().batches(0))
    first = history[0]["step"]
    assert first == 2, "the first is the best"
    assert history[-1]["step"] - first >= 3 * steps > history[-2]["step"] - first


def test_patience_may_count_evaluations():
    settings = Training(epochs=50, learning_rate=0.0, patience_evaluations=3, device="cpu",
                        evaluate_every=5)  # fmt: skip
    _, history = fit(Line(), settings=settings)
    assert len(history) == 4, "the first is the best; three more, and it stops"


def test_loss_that_is_not_a_number(tmp_path):
    often = SETTINGS.fresh().set_params(checkpoint_minutes=0.0)
    with pytest.raises(DivergedError, match=r"nan at step 8 .*epoch 2.*learning_rate"):
        fit(Line(poison=8), tmp_path, settings=often)
    assert_same(fit(Line(), tmp_path, resume=True), fit(Line()))


def test_checkpoint_of_another_training(tmp_path):
    fit(Line(), tmp_path)
    with pytest.raises(InputError, match=r"another training .model was 'x' and is 'y' now"):
        train(network(), Line(), SETTINGS, Run(folder=tmp_path, resume=True), {"model": "y"})


def test_damaged_checkpoint(tmp_path):
    fit(Line(), tmp_path)
    (found,) = tmp_path.glob("checkpoint-*")
    path = found / checkpoint.TENSORS
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(LabelgroveError, match="damaged"):
        fit(Line(), tmp_path, resume=True)


def test_what_cannot_be_removed_does_not_end_the_training(tmp_path):
    (tmp_path / "checkpoint-000000001").write_text("no folder, so it is not removed like one")
    checkpoint.save(tmp_path, 2, checkpoint.Checkpoint({"a": torch.ones(1)}, {}))
    assert checkpoint.load(tmp_path, {}).tensors["a"].item() == 1


def test_a_new_training_removes_old_checkpoints(tmp_path):
    first = Line()
    first.stop_at = 13
    with pytest.raises(KeyboardInterrupt):
        fit(first, tmp_path)
    again = Line()
    assert_same(fit(again, tmp_path), fit(Line()))
    assert len(again.seen) == 30


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there():
    with pytest.raises(LabelgroveError, match=r"'cuda' \(devices=1\) cannot be used here.*auto"):
        open_fabric(Training(device="cuda"))


class Wide(nn.Linear):
    """A line with weights that nobody uses, more than a pipe holds."""

    def __init__(self):
        super().__init__(1, 1)
        self.register_buffer("unused", torch.zeros(1 << 18))


def test_two_processes_share_every_batch():
    """On the CPU: together they learn from the whole batch, however many documents each has."""
    plain, shared = Wide(), Wide()
    shared.load_state_dict(plain.state_dict())
    one = Training(epochs=3, learning_rate=0.02, device="cpu", clip_recent=None)
    two = one.fresh().set_params(devices=2)
    wanted = train(plain, Line(n=43), one, Run(), {})  # batches of 8 and of 3
    found = train(shared, Line(n=43), two, Run(), {})
    assert found[-1]["loss"] == pytest.approx(wanted[-1]["loss"], rel=1e-4)
    for own, other in zip(shared.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(own, other, atol=1e-5, rtol=1e-5)
    assert found[-1]["score"] == pytest.approx(wanted[-1]["score"], rel=1e-4)


# --- reports ------------------------------------------------------------------------------------


def test_a_network_reports_its_best_after_each_epoch_and_can_be_given_up():
    told = []
    settings = Training(batch=8, epochs=3, learning_rate=0.01, device="cpu")

    def note(epoch, score):
        told.append((epoch, score))
        if len(told) == 5:
            raise GivenUpError("others are better")

    torch.manual_seed(0)
    history = train(nn.Linear(1, 1), Line(), settings, Run(report=note), {})
    best = [max(each["score"] for each in history if each["epoch"] <= epoch) for epoch in range(3)]
    assert told == [*zip((1, 2, 3), best, strict=True)]
    with pytest.raises(GivenUpError):
        train(nn.Linear(1, 1), Line(), settings, Run(report=note), {})
    assert len(told) == 5
