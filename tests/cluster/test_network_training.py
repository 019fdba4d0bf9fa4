"""Networks trained by several processes of a real cluster: the same as by one, whatever dies."""

import json
import os
import signal
import threading
import time
from contextlib import contextmanager

import pytest
import torch

from command_line import labelgrove
from labelgrove.cluster import ClusterWorkers
from labelgrove.cluster.connection import ClusterNode
from labelgrove.cluster.failures import pack, unpack
from labelgrove.cluster.groups import cpus_each, plan_group
from labelgrove.cluster.home import HomeProcess, ShownAtHome
from labelgrove.core.errors import ClusterError, InputError, LabelgroveError, StorageError
from labelgrove.core.progress import Progress, Task
from labelgrove.core.types import Run
from labelgrove.models import MODELS
from labelgrove.models.neural.training import checkpoint, processes
from labelgrove.models.neural.training.processes import train
from labelgrove.models.neural.training.settings import Training
from labelgrove.tagger import Tagger
from neural_stand_ins import FragileLine, Line, Table

# Ray Train sets up Ray Data, which warns of settings of its own
pytestmark = pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\.data\.context")
SETTINGS = Training(epochs=4, learning_rate=0.02, device="auto", clip_recent=None, threads=1)
N = 43  # documents of the lines: five batches of 8, and one of 3 that cannot be halved


class Written(Progress, Task):
    """Remembers what is shown; presses Ctrl-C after some documents."""

    def __init__(self, interrupt_after=None):
        self.titles, self.lines, self.done, self.facts = [], [], 0, {}
        self.interrupt_after = interrupt_after

    @contextmanager
    def task(self, title, total=None, unit="documents", done=0):
        self.titles.append((title, total))
        self.done += done
        yield self

    def advance(self, steps=1, **facts):
        self.done += steps
        self.facts |= facts
        if self.interrupt_after is not None and self.done >= self.interrupt_after:
            self.interrupt_after = None
            os.kill(os.getpid(), signal.SIGINT)

    def say(self, message):
        self.lines.append(message)


@pytest.fixture(autouse=True)
def small_shares(monkeypatch):
    monkeypatch.setattr(processes, "FEWEST", 4)  # batches of 8 make two processes


@pytest.fixture
def network():
    torch.manual_seed(0)
    return Table()


def copy_of(network):
    other = Table()
    other.load_state_dict(network.state_dict())
    return other


def assert_close(network, other, atol=1e-5):
    for own, theirs in zip(network.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(own, theirs, atol=atol, rtol=1e-4)


def test_two_processes_of_which_one_dies_learn_what_one_learns(small_cluster, network, tmp_path):
    alone, calm = copy_of(network), copy_of(network)
    wanted = train(alone, Line(n=N), SETTINGS, Run(), {})
    shown, workers = Written(), ClusterWorkers(small_cluster)
    train(calm, Line(n=N), SETTINGS, Run(workers=workers), {})
    run = Run(tmp_path / "run", progress=shown, workers=workers)
    found = train(network, FragileLine(tmp_path / "mark", N), SETTINGS, run, {}, "training it")
    assert (tmp_path / "mark").exists()
    assert workers.n_done == 4
    assert_close(network, alone)
    for own, undisturbed in zip(network.parameters(), calm.parameters(), strict=True):
        assert torch.equal(own, undisturbed), "the steps that were lost are taken again alike"
    assert [event["step"] for event in found] == [event["step"] for event in wanted]
    for own, theirs in zip(found, wanted, strict=True):
        assert own["loss"] == pytest.approx(theirs["loss"], rel=1e-3)
        assert own["score"] == pytest.approx(theirs["score"], rel=1e-3)
    assert shown.titles == [("training it", N * 4)], "one bar, though they began twice"
    assert shown.done == N * 4
    assert {"loss", "validation score"} <= shown.facts.keys()
    assert shown.lines[0] == "training it: 2 processes share every batch (cpu, 1 CPUs each)"
    (died,) = (line for line in shown.lines if line.startswith("a process died"))
    assert died.endswith("; all begin again at the last checkpoint")
    # 13 steps were taken; what the epoch that they were in had begun with is kept
    assert [line for line in shown.lines if "resuming" in line] == [
        "resuming after 12 steps (epoch 3)"
    ]
    assert len([*(tmp_path / "run").glob("checkpoint-*")]) == 1
    history = (tmp_path / "run" / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in history] == [each["step"] for each in found]


def test_ctrl_c_keeps_the_step_and_one_process_goes_on(small_cluster, network, tmp_path):
    alone, folder = copy_of(network), tmp_path / "run"
    slow = {"learning_rate": 1e-4, "patience": 10_000, "plateau_epochs": None}
    long = SETTINGS.fresh().set_params(epochs=1000, **slow)
    shown = Written(interrupt_after=1)
    run = Run(folder, progress=shown, workers=ClusterWorkers(small_cluster))
    with pytest.raises(KeyboardInterrupt):
        train(network, Line(n=N), long, run, {})
    (kept,) = folder.glob("checkpoint-*")
    standing = json.loads((kept / "facts.json").read_text())["standing"]
    assert 0 < standing["steps"] < 6000, "it was stopped before its end"
    assert shown.lines.count("stopping after this step: what is learned is kept") == 1
    resumed, rest = Written(), long.fresh().set_params(epochs=standing["epoch"] + 2, **slow)
    found = train(network, Line(n=N), rest, Run(folder, resume=True, progress=resumed), {})
    assert resumed.lines[0].startswith(f"resuming after {standing['steps']:,} steps")
    assert len(found) == len(train(alone, Line(n=N), rest, Run(), {}))
    assert_close(network, alone, atol=1e-3)  # rounding grows over hundreds of steps


def test_an_error_of_the_training_ends_it_at_once(small_cluster, network):
    run = Run(workers=ClusterWorkers(small_cluster))
    with pytest.raises(LabelgroveError, match=r"the loss is nan at step 2 \(epoch 1\)") as found:
        train(network, Line(poison=2, n=N), SETTINGS, run, {})
    assert "in a worker on " in found.value.__notes__[0]


@pytest.mark.parametrize("special", [{"device": "mps"}, {"device": "cuda:1"}, {"devices": 2}])
def test_settings_of_one_machine_are_refused(small_cluster, network, special):
    run = Run(workers=ClusterWorkers(small_cluster))
    with pytest.raises(InputError, match="do not go together with a cluster"):
        train(network, Line(), SETTINGS.fresh().set_params(**special), run, {})


def test_a_small_batch_is_not_worth_a_cluster(small_cluster, network, monkeypatch):
    monkeypatch.setattr(processes, "FEWEST", 5)
    shown, workers = Written(), ClusterWorkers(small_cluster)
    train(network, Line(), SETTINGS, Run(progress=shown, workers=workers), {})
    assert workers.n_done == 0
    assert not any("share every batch" in line for line in shown.lines)


# --- plans --------------------------------------------------------------------------------------


def node(cpus, gpus=0):
    return ClusterNode("id", "name", cpus, gpus)


@pytest.mark.parametrize(
    ("nodes", "most", "device", "wanted"),
    [
        ([node(4), node(4)], 8, "auto", (8, "cpu", 1)),
        ([node(4), node(4)], 4, "auto", (4, "cpu", 2)),
        ([node(4), node(4)], 3, "cpu", (3, "cpu", 2)),
        ([node(16, 2), node(8)], 8, "auto", (2, "cuda", 8)),
        ([node(16, 2), node(8)], 8, "cpu", (8, "cpu", 2)),
        ([node(16, 4), node(16, 4)], 4, "cuda", (4, "cuda", 4)),
        ([node(0, 1)], 4, "auto", (1, "cuda", 1)),
    ],
)
def test_what_a_group_gets(nodes, most, device, wanted):
    assert plan_group(nodes, most, device) == wanted


def test_a_cluster_without_what_is_asked_for():
    with pytest.raises(ClusterError, match="no node of the cluster has a GPU"):
        plan_group([node(4)], 2, "cuda")
    with pytest.raises(ClusterError, match="the cluster has no CPU"):
        plan_group([node(0)], 2, "auto")


def test_a_process_has_its_cpus_on_one_node():
    for cpus in ([1], [5, 3], [7, 1, 1], [64, 2]):
        for size in range(1, sum(cpus) + 1):
            each = cpus_each(cpus, size)
            assert each >= 1
            assert sum(own // each for own in cpus) >= size


# --- at home ------------------------------------------------------------------------------------


def test_deaths_are_counted_until_the_training_gets_further():
    home = HomeProcess(max_retries=2)
    assert home.begin(first=True)
    assert home.begin(first=False), "only the first of a group is counted"
    home.tell([("task", "t", 100, "documents", 0)])
    assert home.begin(first=True)
    home.tell([("task", "t", 100, "documents", 40)])  # further: they count from here
    assert home.begin(first=True)
    assert home.begin(first=True)
    home.complain("RuntimeError: connection closed")
    assert not home.begin(first=True)
    news = home.news()
    assert "died 3 times in a row: RuntimeError: connection closed" in news.failed.message
    said = [message[1] for message in news.messages if message[0] == "say"]
    assert said == ["a process died; all begin again at the last checkpoint"] * 3


def test_a_stopped_or_failed_group_has_nothing_to_do():
    stopped, failed = HomeProcess(3), HomeProcess(3)
    stopped.stop()
    failed.fail(pack(LabelgroveError("first")))
    failed.fail(pack(LabelgroveError("second")))
    assert not stopped.begin(first=True)
    assert stopped.tell([])
    assert not failed.begin(first=True)
    assert failed.news().failed.message == "first"


def test_what_cannot_be_done_at_home_ends_the_group(tmp_path):
    home = HomeProcess(3)
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "run"
    succeeded, _ = home.call(checkpoint.save, folder, 1, checkpoint.Checkpoint({}, {}))
    assert not succeeded
    failed = unpack(home.news().failed)
    assert isinstance(failed, StorageError)
    assert f"cannot write a checkpoint to {folder}" in str(failed)
    assert not home.begin(first=True)


def test_a_checkpoint_is_whole_before_others_are_given_it(tmp_path):
    home, writing, written = HomeProcess(3), threading.Event(), []

    def write_slowly():
        writing.set()
        time.sleep(0.2)
        written.append("whole")

    writer = threading.Thread(target=home.call, args=(write_slowly,))  # its process may be dead
    writer.start()
    writing.wait()
    assert home.call(written.copy) == (True, ["whole"])
    writer.join()


def test_a_bar_goes_back_to_where_a_group_begins_again():
    written = Written()
    shown = ShownAtHome(written)
    shown.show([("task", "t", 100, "documents", 0), ("advance", 30, {"loss": 1.0})])
    shown.show([("task", "t", 100, "documents", 20), ("say", "again")])
    assert written.done == 20
    shown.show([("advance", 5, {})])
    assert (written.done, written.lines) == (25, ["again"])
    assert written.titles == [("t", 100)]


# --- whole models -------------------------------------------------------------------------------


def test_a_model_behind_a_first_stage(small_cluster):
    texts, labels = documents()
    model = MODELS.create(
        "attentionxml", batch=16, epochs=1, first="bonsai", folds=2, vectors="random", units=8,
        threads=1,
    )  # fmt: skip
    shown, workers = Written(), ClusterWorkers(small_cluster)
    tagger = Tagger(model).fit(texts, labels, run=Run(progress=shown, workers=workers))
    assert "training network 1: 2 processes share every batch (cpu, 1 CPUs each)" in shown.lines
    assert workers.n_done > 2, "the first stage learned there too"
    assert tagger.tag(texts[0], k=1)


def documents():
    labels = [[f"label {n % 7}", f"label {n % 5}"] for n in range(240)]
    texts = [
        " ".join(f"{each.replace(' ', '')}x{n % 3}" for each in row) for n, row in enumerate(labels)
    ]
    return texts, labels


def test_an_estimate_tells_among_how_many_processes_a_network_is_divided(tmp_path):
    with (tmp_path / "train.jsonl").open("w") as file:
        for text, labels in zip(*documents(), strict=True):
            file.write(json.dumps({"text": text, "labels": labels}) + "\n")
    settings = {"batch": 32, "vectors": "random", "filters": 8, "device": "cpu"}
    done = labelgrove(
        "train", tmp_path / "train.jsonl", "--model=xml-cnn", "--out", tmp_path / "found",
        *(f"--set={key}={value}" for key, value in settings.items()), "--estimate",
        "--cluster=local:64", "--json", tmp_path / "estimate.json",
    )  # fmt: skip
    assert "on the 64 CPUs of the cluster about 0:00:" in done.stdout
    assert "in 4 processes that exchange 0." in done.stdout
    told = json.loads((tmp_path / "estimate.json").read_text())
    assert 0 < told["exchanged"] < 10**9
    assert told["cluster_seconds"] < told["seconds"]
