"""Training: every node learns its own problem; threads, seeds, interruption and resuming."""

from contextlib import contextmanager

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

from labelgrove.core.errors import DamagedError, InputError, StorageError
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.types import FitContext, Run
from labelgrove.labels import LabelTree
from labelgrove.models.linear import checkpoints, forest_builder, tasks, training
from labelgrove.models.linear.bonsai import Bonsai
from labelgrove.models.linear.one_vs_rest import OneVsRest
from labelgrove.models.linear.parabel import Parabel
from labelgrove.models.linear.solver import Solver

N_LABELS = 40


def planted(n=300, n_labels=N_LABELS, seed=0):
    """Documents whose first features give their labels away, and noise beside them."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, n_labels)) < 2.5 / n_labels).astype(np.float32)
    noise = rng.random((n, 30)) * (rng.random((n, 30)) < 0.2)
    X = np.hstack([Y * rng.uniform(0.5, 1.0, Y.shape), noise])
    return csr_array(X.astype(np.float32)), csr_array(Y)


@pytest.fixture(autouse=True)
def narrow_blocks(monkeypatch):
    monkeypatch.setattr(tasks, "BLOCK", 4)  # many tasks for few labels


@pytest.fixture
def trained(monkeypatch):
    """The tasks that were trained, in the order they were begun."""
    begun, original = [], training.train_task

    def counted(x, level, solver, task):
        begun.append(task)
        return original(x, level, solver, task)

    monkeypatch.setattr(training, "train_task", counted)
    return begun


def assert_same(one, other):
    for name, array in one.forest_.state().items():
        np.testing.assert_array_equal(array, other.forest_.state()[name], err_msg=name)


def differs(one, other):
    state = other.forest_.state()
    return any(not np.array_equal(a, state[name]) for name, a in one.forest_.state().items())


# --- what is learned ----------------------------------------------------------------------------


@pytest.mark.parametrize("tail", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_every_node_learns_from_the_documents_below_it(loss, tail):
    """Weights and bias of each child against scipy, on all documents or those with a label below.

    A document counts more for the children that it has the fewer documents they have in all.
    """
    X, Y = planted(80, 9)
    tree = LabelTree([np.array([0, 0, 0]), np.array([0, 1, 0, 1, 2, 0, 1, 1, 0])])
    solver = Solver(loss, 0.5, epochs=3000, tolerance=1e-6, threshold=0.0, seed=0, tail=tail)
    forest = training.train_forest(X, Y, [tree], solver, Run(), threads=2)
    tables = forest.tables
    dense, truth = X.toarray().astype(float), Y.toarray()
    assert not truth.any(axis=1).all(), "documents without labels teach the root"
    every, every_row = np.arange(X.shape[1]), np.arange(80)
    heaviest = 1.0
    for level, node in ((0, 0), (1, 0), (1, 1)):
        rows = np.flatnonzero(tree.indicators(Y, level).toarray()[:, node]) if level else every_row
        offsets, nodes = tree.children(level)
        place = node if level == 0 else node + 1  # nodes of all levels are numbered together
        step = tables.chunk_scale[tables.chunk_ptr[place] : tables.chunk_ptr[place + 1]].max()
        for c, child in enumerate(nodes[offsets[node] : offsets[node + 1]]):
            below = truth[:, tree.labels_of(level + 1, child)].any(axis=1)
            rarity = 1 + (np.log(80) - 1) * (2.5 / (below.sum() + 1.5)) ** 0.55
            heaviest = max(heaviest, rarity**tail)
            below = below[rows]
            costs = np.where(below, 0.5 * rarity**tail, 0.5)
            wanted = least(dense[rows], 2.0 * below - 1, costs, loss)
            near = 1e-3 + step / 2
            np.testing.assert_allclose(forest._weights(place, c, every), wanted[:-1], atol=near)
            bias = tables.bias[tables.child_ptr[place] + c]
            assert bias == pytest.approx(wanted[-1], abs=1e-3)
    assert (heaviest > 1.5) == (tail > 0)
    assert np.diff(tables.chunk_rows)[-1] == 0, "an only child has no classifier"


def test_nodes_learn_also_from_documents_that_are_sent_there_by_mistake():
    """A document teaches the two nodes that the root finds likeliest, even if it has no label."""
    X, Y = planted(120, 12)
    Y = csr_array(Y.toarray() * (np.arange(120) % 10 > 0)[:, None])  # some have no label
    tree = LabelTree([np.zeros(4), np.arange(12) % 4])
    solver = Solver(
        *("squared-hinge", 0.5), epochs=3000, tolerance=1e-6, threshold=0.0, seed=0, negatives=2
    )
    forest = training.train_forest(X, Y, [tree], solver, Run(), threads=2)
    dense, truth = X.toarray().astype(float), Y.toarray()
    every = np.arange(X.shape[1])
    root = np.stack([forest._weights(0, c, every) for c in range(4)], axis=1)
    likeliest = np.argsort(-(dense @ root + forest.tables.bias[:4]), axis=1)[:, :2]
    mistakes = 0
    for node in range(4):
        own = truth[:, tree.labels_of(1, node)].any(axis=1)
        sent = (likeliest == node).any(axis=1)
        mistakes += (sent & ~own).sum()
        rows = np.flatnonzero(own | sent)
        for c, label in enumerate(tree.labels_of(1, node)):
            wanted = least(dense[rows], 2 * truth[rows, label] - 1, 0.5, "squared-hinge")
            found = forest._weights(node + 1, c, every)
            np.testing.assert_allclose(found, wanted[:-1], atol=2e-3)
    assert mistakes > 10


@pytest.mark.parametrize("negatives", [1, 3, 100])
def test_negatives_down_a_tree_of_chains_and_branches(negatives):
    """Each level has as many nodes as the one above or more; all labels stay within reach."""
    X, Y = planted()
    tree = [[0, 0, 0], [0, 1, 2], [0, 0, 1, 2], [label % 4 for label in range(N_LABELS)]]
    model = Bonsai(tree=tree, negatives=negatives).fit(X, Y)
    alone = csr_array(np.eye(N_LABELS, X.shape[1], dtype=np.float32))
    assert (model.rank(alone, 1).labels.ravel() == np.arange(N_LABELS)).mean() > 0.9


def least(X, sign, cost, loss):
    """Return the best weights and bias; ``cost`` is of each row, or of all."""
    A = np.hstack([X, np.ones((len(X), 1))])

    def objective(w):
        margin = sign * (A @ w)
        if loss == "logistic":
            losses, slope = np.logaddexp(0, -margin), -1 / (1 + np.exp(margin))
        else:
            losses, slope = np.maximum(0, 1 - margin) ** 2, -2 * np.maximum(0, 1 - margin)
        return w @ w / 2 + (cost * losses).sum(), w + A.T @ (cost * sign * slope)

    options = {"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-8}
    return minimize(objective, np.zeros(A.shape[1]), jac=True, method="L-BFGS-B", options=options).x


def test_threshold_drops_small_weights_and_changes_no_other():
    X, Y = planted()
    every = OneVsRest(threshold=0).fit(X, Y).forest_.tables
    kept = OneVsRest(threshold=0.2).fit(X, Y).forest_.tables
    np.testing.assert_array_equal(kept.chunk_scale, every.chunk_scale)
    (step,) = every.chunk_scale
    sizes = np.abs(every.entry_value) * step
    large = sizes >= 0.2
    assert np.abs(sizes - 0.2).min() > step, "no weight is so near that rounding decides"
    assert 0 < large.sum() < len(large)
    np.testing.assert_array_equal(kept.entry_value, every.entry_value[large])
    np.testing.assert_array_equal(kept.entry_label, every.entry_label[large])
    np.testing.assert_array_equal(kept.bias, every.bias)
    # nothing is stored for a weight of 0, only for some that are less than half a step
    assert (every.entry_value == 0).mean() < 0.01


@pytest.mark.parametrize("chunk", [4, 10, 256])
def test_joined_blocks_hold_what_was_trained(chunk, monkeypatch):
    """The weights of all blocks of a node, each within half a step of its chunk."""
    monkeypatch.setattr(forest_builder, "CHUNK", chunk)
    X, Y = planted()
    trained, original = {}, training.train_task

    def noted(x, level, solver, task):
        trained[task] = original(x, level, solver, task)
        return trained[task]

    monkeypatch.setattr(training, "train_task", noted)
    forest = OneVsRest(threshold=0.01).fit(X, Y).forest_
    tables = forest.tables
    assert len(trained) == N_LABELS // 4
    assert np.diff([*tables.chunk_child, N_LABELS]).max() <= chunk
    assert len(tables.chunk_scale) == {4: 10, 10: 5, 256: 1}[chunk]
    for task, learned in trained.items():
        dense = np.zeros((X.shape[1], 4), np.float32)
        rows = np.repeat(learned.features, np.diff(learned.ptr))
        dense[rows, learned.labels] = learned.values
        for c in range(4):
            place = task.first + c
            owner = np.searchsorted(tables.chunk_child, place, side="right") - 1
            found = forest._weights(0, place, np.arange(X.shape[1]))
            near = 0.51 * tables.chunk_scale[owner]
            np.testing.assert_allclose(found, dense[:, c], rtol=0, atol=near)
            assert tables.bias[place] == learned.bias[c]


def test_runs_of_blocks_fit_into_chunks():
    blocks = [tasks.NodeTask(0, 0, 0, 63 * i, 63 * i + 63) for i in range(9)]
    runs = list(forest_builder._runs(blocks))
    assert [len(run) for run in runs] == [4, 4, 1]
    assert [task for run in runs for task in run] == blocks
    exactly = [tasks.NodeTask(0, 0, 0, 64 * i, 64 * i + 64) for i in range(8)]
    assert [len(run) for run in forest_builder._runs(exactly)] == [4, 4]
    assert list(forest_builder._runs([])) == []


# --- threads and seeds --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        OneVsRest(),
        Parabel(max_leaf=5),
        Bonsai(branching=4, max_leaf=5, trees=2),
        Bonsai(tree=[[0, 0], [0, 0, 1, 1], [label % 4 for label in range(N_LABELS)]]),
    ],
    ids=["one-vs-rest", "parabel", "bonsai", "given tree"],
)
def test_threads_change_nothing(model):
    X, Y = planted()
    one, three = (model.fresh().set_params(threads=threads).fit(X, Y) for threads in (1, 3))
    assert_same(one, three)


@pytest.mark.parametrize("model", [OneVsRest(), Bonsai(branching=4, max_leaf=5)], ids=str)
def test_seed(model):
    X, Y = planted()
    first, again, other = (model.fresh().set_params(seed=seed).fit(X, Y) for seed in (5, 5, 6))
    assert_same(first, again)
    assert differs(first, other)


def test_seed_of_a_given_tree_changes_weights_and_not_the_tree():
    X, Y = planted()
    tree = [[0] * 4, [label % 4 for label in range(N_LABELS)]]
    one, other = (Bonsai(tree=tree, seed=seed).fit(X, Y).forest_ for seed in (0, 1))
    np.testing.assert_array_equal(one.tables.child, other.tables.child)
    assert not np.array_equal(one.tables.bias, other.tables.bias)
    np.testing.assert_allclose(one.tables.bias, other.tables.bias, atol=0.5)


def test_trees_of_a_forest_differ():
    X, Y = planted()
    forest = Bonsai(branching=4, max_leaf=5, trees=2).fit(X, Y).forest_
    assert len(forest.roots) == 2
    tables = forest.tables
    first, second = (
        tables.child[tables.child_ptr[start] : tables.child_ptr[end]]
        for start, end in ((0, forest.roots[1]), (forest.roots[1], len(tables.child_ptr) - 1))
    )
    assert first.tolist() != second.tolist()


# --- resuming -----------------------------------------------------------------------------------


class Impatient(Progress):
    """Interrupts after some finished tasks, as a user with Ctrl-C does."""

    def __init__(self, patience):
        self.patience = patience
        self.said = []

    @contextmanager
    def task(self, title, total=None, unit="documents", done=0):
        yield self

    def advance(self, steps=1, **facts):
        self.patience -= steps
        if self.patience < 0:
            raise KeyboardInterrupt

    def say(self, message):
        self.said.append(message)


def fit(model, X, Y, folder, *, resume=False, progress=None):
    run = Run(folder=folder, resume=resume, progress=progress or Silent())
    return model.fresh().fit(X, Y, context=FitContext(run=run))


def interrupt(model, X, Y, folder, patience, resume=False):
    with pytest.raises(KeyboardInterrupt):
        fit(model, X, Y, folder, resume=resume, progress=Impatient(patience))


MODEL = Bonsai(branching=4, max_leaf=5, trees=2, cost=1.0, threads=1)
DEEP = Bonsai(
    tree=[[0, 0], [0, 0, 1, 1], [0, 0, 1, 1, 2, 3, 3], [label % 7 for label in range(N_LABELS)]],
    negatives=3,
)


@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["written at once", "written at the end"])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("patience", [0, 1, 7])
def test_resumed_training_is_the_same_and_repeats_nothing(
    patience, threads, seconds, tmp_path, trained, monkeypatch
):
    monkeypatch.setattr(checkpoints, "FLUSH_SECONDS", seconds)
    X, Y = planted()
    whole = MODEL.fresh().fit(X, Y)
    n_tasks = len(trained)
    assert n_tasks > 20
    model = MODEL.fresh().set_params(threads=threads)
    interrupt(model, X, Y, tmp_path / "run", patience)
    trained.clear()
    progress = Impatient(10**6)
    resumed = fit(model, X, Y, tmp_path / "run", resume=True, progress=progress)
    assert_same(resumed, whole)
    # the task whose progress was interrupted was finished, too
    assert len(trained) == len(set(trained)) == n_tasks - (patience + 1)
    assert f"resuming: {patience + 1} groups of labels are done" in progress.said


@pytest.mark.parametrize("patience", [0, 2, 6, 9])
def test_a_level_learns_the_same_from_levels_that_were_resumed(patience, tmp_path, trained):
    """Whom a node learns from depends on what the levels above have learned."""
    X, Y = planted()
    whole = DEEP.fresh().fit(X, Y)
    n_tasks = len(trained)
    trained.clear()
    interrupt(DEEP, X, Y, tmp_path, patience)
    trained.clear()
    assert_same(fit(DEEP, X, Y, tmp_path, resume=True), whole)
    assert len(trained) == n_tasks - (patience + 1)


def test_interrupted_again_and_again(tmp_path, trained, monkeypatch):
    monkeypatch.setattr(checkpoints, "FLUSH_SECONDS", 0.0)
    X, Y = planted()
    whole = MODEL.fresh().fit(X, Y)
    n_tasks = len(trained)
    trained.clear()
    interrupt(MODEL, X, Y, tmp_path, 4)
    interrupt(MODEL, X, Y, tmp_path, 4, resume=True)  # five are done, five more follow
    begun = set(trained)
    trained.clear()
    assert_same(fit(MODEL, X, Y, tmp_path, resume=True), whole)
    assert len(trained) == n_tasks - 10
    assert len(begun) >= 10
    trained.clear()
    assert_same(fit(MODEL, X, Y, tmp_path, resume=True), whole)
    assert trained == [], "a finished training is only read"


def test_a_part_that_was_being_written_does_not_count(tmp_path, trained, monkeypatch):
    monkeypatch.setattr(checkpoints, "FLUSH_SECONDS", 0.0)
    X, Y = planted()
    whole = MODEL.fresh().fit(X, Y)
    interrupt(MODEL, X, Y, tmp_path, 3)
    last = max(tmp_path.glob("part-*"))
    last.rename(tmp_path / f".{last.name}")  # as if killed before the renaming
    for name in ("values.npy", "left.npy"):
        (tmp_path / f".{last.name}" / name).write_bytes(b"cut short")
    assert_same(fit(MODEL, X, Y, tmp_path, resume=True), whole)
    assert not [*tmp_path.rglob("left.npy")], "nothing of it is in the part that took its place"


def test_without_resume_it_begins_anew_and_leaves_the_files_of_others(tmp_path, trained):
    X, Y = planted()
    (tmp_path / "notes.txt").write_text("mine")
    interrupt(MODEL, X, Y, tmp_path, 5)
    trained.clear()
    whole = fit(MODEL, X, Y, tmp_path)
    n_tasks = len(trained)
    assert_same(whole, MODEL.fresh().fit(X, Y))
    trained.clear()
    MODEL.fresh().fit(X, Y)
    assert len(trained) == n_tasks
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("begun", ["nothing", "folder", "parts without a note"])
def test_resume_where_nothing_was_begun_is_a_beginning(begun, tmp_path):
    X, Y = planted()
    folder = tmp_path / "deep" / "run"
    if begun == "folder":
        folder.mkdir(parents=True)
    if begun == "parts without a note":
        other_X, other_Y = planted(seed=1)
        interrupt(MODEL, other_X, other_Y, folder, 5)
        (folder / "training").unlink()
    assert_same(fit(MODEL, X, Y, folder, resume=True), MODEL.fresh().fit(X, Y))


def test_resume_where_another_kind_of_model_was_trained_is_refused(tmp_path):
    (tmp_path / "flat").mkdir()
    with pytest.raises(InputError, match=r"another kind of model \(flat\).*start anew"):
        fit(MODEL, *planted(), tmp_path, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["flat"]


def changed_value(X, Y):
    X = X.copy()
    X.data[0] += 1
    return X, Y


def changed_label(X, Y):
    dense = Y.toarray()
    dense[0] = np.roll(dense[0], 1)
    return X, csr_array(dense)


def one_row_less(X, Y):
    return X[:-1], Y[:-1]


@pytest.mark.parametrize("change", [changed_value, changed_label, one_row_less])
def test_resume_with_other_data_is_refused(change, tmp_path):
    X, Y = planted()
    interrupt(MODEL, X, Y, tmp_path, 5)
    with pytest.raises(InputError, match="other data or with other settings") as error:
        fit(MODEL, *change(X, Y), tmp_path, resume=True)
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "logistic"},
        {"cost": 2.0},
        {"epochs": 11},
        {"tolerance": 0.2},
        {"threshold": 0.2},
        {"tail": 0.5},
        {"seed": 1},
        {"branching": 3},
        {"trees": 1},
        {"negatives": 3},
        {"sharpness": 9.0},  # decides which documents are sent to a node by mistake
    ],
    ids=str,
)
def test_resume_with_other_settings_is_refused(settings, tmp_path):
    X, Y = planted()
    interrupt(MODEL, X, Y, tmp_path, 5)
    with pytest.raises(InputError, match="other data or with other settings"):
        fit(MODEL.fresh().set_params(**settings), X, Y, tmp_path, resume=True)
    # and what was there is still good
    assert_same(fit(MODEL, X, Y, tmp_path, resume=True), MODEL.fresh().fit(X, Y))


@pytest.mark.parametrize(
    "settings", [{"threads": 2}, {"beam": 3}, {"carry": 0.9}, {"cost": 1}, {"tail": 1}], ids=str
)
def test_resume_with_settings_that_do_not_matter_to_training(settings, tmp_path):
    X, Y = planted()
    whole = MODEL.fresh().fit(X, Y)
    interrupt(MODEL, X, Y, tmp_path, 5)
    assert_same(fit(MODEL.fresh().set_params(**settings), X, Y, tmp_path, resume=True), whole)


def test_damaged_part_is_refused(tmp_path):
    X, Y = planted()
    interrupt(MODEL, X, Y, tmp_path, 5)
    part = max(tmp_path.glob("part-*"))
    (part / "values.npy").write_bytes((part / "values.npy").read_bytes()[:-40])
    with pytest.raises(DamagedError, match=f"{part.name} is damaged: start anew"):
        fit(MODEL, X, Y, tmp_path, resume=True)


def test_run_folder_that_cannot_be_written(tmp_path):
    X, Y = planted()
    (tmp_path / "run").write_text("a file")
    with pytest.raises(StorageError, match="cannot keep the training in"):
        fit(MODEL, X, Y, tmp_path / "run")


def test_failed_task_is_not_hidden(monkeypatch):
    X, Y = planted()

    def broken(hot, level, solver, task):
        raise MemoryError

    monkeypatch.setattr(training, "train_task", broken)
    with pytest.raises(MemoryError):
        MODEL.fresh().fit(X, Y)


def test_finished_tasks_are_written_every_half_minute(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    kept = checkpoints.TaskCheckpoint(Run(folder=tmp_path), "this training")
    kept.load()
    chunk = tasks.Chunk(*(np.zeros(1) for _ in tasks.Chunk._fields))
    written = []
    for number, seconds in enumerate((0.0, 29.0, 2.0, 29.0, 2.0)):
        now[0] += seconds
        kept.add(tasks.NodeTask(number, 0, 0, 0, 1), chunk)
        written.append(len(list(tmp_path.glob("part-*"))))
    assert written == [0, 0, 1, 1, 2]
