"""Tasks of a training that other processes carry out, here by stand-ins in this process."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.progress import Silent
from labelgrove.core.types import FitContext, Run
from labelgrove.models.linear import remote_training, tasks
from labelgrove.models.linear.bonsai import Bonsai
from labelgrove.models.linear.classifier_chain import ClassifierChain
from labelgrove.models.linear.remote_training import RemoteTraining, train_group


class StandIns:
    """Workers that are sent bytes."""

    def __init__(self, cpus=2):
        self.cpus, self.sent, self.groups, self.asked = cpus, [], [], []

    def put(self, value):
        self.sent.append(pickle.dumps(value, protocol=5))
        return len(self.sent) - 1

    def run(self, function, jobs, shared=()):
        for number, job in enumerate(jobs):
            self.asked.append(number)
            given = [
                pickle.loads(self.sent[each]) if isinstance(each, int) else each for each in shared
            ]
            self.groups.append(list(job))
            yield number, pickle.loads(pickle.dumps(function(job, *given)))


class Told(Silent):
    def __init__(self):
        self.lines = []

    def say(self, message):
        self.lines.append(message)


@pytest.fixture(autouse=True)
def narrow_blocks(monkeypatch):
    monkeypatch.setattr(tasks, "BLOCK", 4)


def planted(n=300, n_labels=40):
    rng = np.random.default_rng(0)
    Y = (rng.random((n, n_labels)) < 2.5 / n_labels).astype(np.float32)
    return csr_array(Y * rng.uniform(0.5, 1, Y.shape).astype(np.float32)), csr_array(Y)


@pytest.mark.parametrize(
    "model", [Bonsai(branching=3, max_leaf=5, trees=2), ClassifierChain(chains=2)]
)
def test_a_model_is_the_same(model):
    workers = StandIns()
    X, Y = planted()
    one = model.fresh().fit(X, Y).state()
    other = model.fresh().fit(X, Y, context=FitContext(run=Run(workers=workers))).state()
    for name, value in one.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, other[name], err_msg=name)
    n_levels = len(workers.sent) - 1
    assert n_levels > 1, "the features once, and each level"


class Sizes:
    """A level whose tasks are numbers: their work."""

    def work(self, task):
        return task


def groups_of(sizes, cpus=1, speed=0.0):
    training = RemoteTraining(StandIns(cpus), None, None)
    training._speed = speed
    return list(training._groups(sizes, sizes))


def test_first_groups_are_single_tasks():
    assert groups_of([5, 4, 3]) == [[5], [4], [3]]


def test_groups_take_some_seconds_by_the_speed_known(monkeypatch):
    monkeypatch.setattr(remote_training, "SECONDS", 2.0)
    assert groups_of([9, 6, 4, 4, 1, 1, 30], speed=5) == [[9], [6, 4], [4, 1, 1], [30]]


def test_every_cpu_gets_some_groups():
    assert [len(each) for each in groups_of([1] * 64, cpus=2, speed=1e9)] == [8] * 8


def test_the_speed_is_that_of_the_fastest_group(monkeypatch):
    def timed(group, train, level, solver):
        slow = group[0] == 8  # it has to compile first
        return sum(group) / (2.0 if not slow else 1.0), [(each, (np.ones(1),)) for each in group]

    monkeypatch.setattr(remote_training, "train_group", timed)
    monkeypatch.setattr(remote_training, "Chunk", lambda *arrays: arrays)
    monkeypatch.setattr(remote_training, "PER_CPU", 1)
    monkeypatch.setattr(remote_training, "SECONDS", 3.0)
    workers = StandIns(1)
    training = RemoteTraining(workers, None, None)
    learned = dict(training.carry_out(Sizes(), [8, 4, 4, 2, 2, 1]))
    assert workers.groups == [[8], [4], [4, 2], [2, 1]]
    assert learned.keys() == {8, 4, 2, 1}


def test_groups_are_made_when_they_are_asked_for():
    workers = StandIns()
    X, Y = planted()

    class Stops(Silent):
        def task(self, *arguments, **options):
            raise RecursionError

    with pytest.raises(RecursionError):
        Bonsai().fit(X, Y, context=FitContext(run=Run(workers=workers, progress=Stops())))
    assert not workers.asked


@pytest.mark.parametrize(
    ("waited", "worked", "threads", "said"),
    [(20, 5, 1, True), (20, 11, 1, False), (20, 11, 2, True), (4, 0, 1, False)],
)
def test_what_is_not_worth_it_is_told(waited, worked, threads, said):
    training = RemoteTraining(StandIns(), None, None)
    training._waited, training._worked = float(waited), float(worked)
    told = Told()
    training.tell(told, threads)
    assert bool(told.lines) == said
    if said:
        assert f"trained for {worked}.0 s in all and took {waited}.0 s" in told.lines[0]


def test_a_group_tells_its_seconds():
    seconds, learned = train_group([1, 2], lambda level, solver, task: (level, task), "l", None)
    assert 0 <= seconds < 1
    assert learned == [(1, ("l", 1)), (2, ("l", 2))]
