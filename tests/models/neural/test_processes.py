"""Networks trained for a process elsewhere: what they are given crosses over, and is not written.

One process is a group of its own here, so that all models can be tried in seconds; real groups are
in tests/cluster.
"""

import pickle

import numpy as np
import pytest
import torch.distributed
import torch.multiprocessing

from labelgrove import models
from labelgrove.core.progress import Silent
from labelgrove.core.remote import GroupPlan
from labelgrove.core.types import Run
from labelgrove.models.contract import known_answer
from labelgrove.tagger import Tagger
from neural_stand_ins import gradients_of_a_step


class Home:
    """Is here."""

    progress = Silent()

    def call(self, function, *arguments):
        return function(*arguments)

    def is_stopped(self):
        return False


class Workers:
    """Trains with a copy whose arrays are read-only, as those of a cluster's object store are."""

    cpus = 1

    def __init__(self):
        self.titles = []

    def put(self, value):
        return value

    def run(self, function, jobs, shared=()):
        yield from ((number, function(job, *shared)) for number, job in enumerate(jobs))

    def plan_group(self, most, device):
        return GroupPlan(2, "cpu", 1)

    def run_group(self, plan, function, job, progress, *, sparse=False):
        buffers = []
        sent = pickle.dumps(job, protocol=5, buffer_callback=buffers.append)
        given = pickle.loads(sent, buffers=[bytes(each.raw()) for each in buffers])
        self.titles.append(given[0].title)
        function(given, Home())


@pytest.fixture
def group(tmp_path, monkeypatch):
    for name, value in {"RANK": 0, "WORLD_SIZE": 1, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1}.items():
        monkeypatch.setenv(name, str(value))
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def test_three_processes_that_begin_again_add_gradients_in_the_same_order(tmp_path):
    torch.multiprocessing.spawn(gradients_of_a_step, (tmp_path, 3), nprocs=3)
    undisturbed, again = torch.load(tmp_path / "after-2"), torch.load(tmp_path / "after-1")
    assert torch.equal(undisturbed, again)


NEURAL = [name for name in models.MODELS.names() if hasattr(models.MODELS.find(name), "new_first")]


@pytest.mark.parametrize("name", NEURAL)
@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning")
def test_every_network_learns_the_same_elsewhere(name, group, tmp_path):
    settings = models.MODELS.find(name).example_settings(tmp_path)
    settings |= {"threads": 1, "device": "cpu"} | ({"epochs": 1} if "epochs" in settings else {})
    texts, labels = known_answer(60)
    workers, ranked = Workers(), []
    for run in (Run(), Run(workers=workers)):
        model = models.MODELS.create(name, **settings)
        tagger = Tagger(model, validation=0.2, threads=1).fit(texts, labels, run=run)
        ranked.append(tagger.learned_.rank(texts[:20], 5))
    assert workers.titles
    np.testing.assert_array_equal(ranked[0].labels, ranked[1].labels)
    np.testing.assert_allclose(ranked[0].scores, ranked[1].scores, rtol=1e-4, atol=1e-6)
