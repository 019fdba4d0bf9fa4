"""A tagger that is replaced while it is loaded is the old one or the new one, never a mixture."""

import json
import threading
import time

import numpy as np
import pytest
from folder_changes import sealed

from labelgrove import Tagger, models
from labelgrove.core.errors import DamagedError
from labelgrove.labels import LabelSpace
from processes import PATIENCE

KINDS = {"few": ["a", "b"], "many": ["a", "b", "c", "d", "e"]}


def trained(labels, model="one-vs-rest"):
    texts = [f"text about {label}, number {i}" for i in range(10) for label in labels]
    return Tagger(model).fit(texts, [[label] for label in labels] * 10)


def replace(tagger, folder):
    """Save a tagger in another thread and return once it is in its place."""
    before = (folder / "manifest.json").stat().st_ino
    thread = threading.Thread(target=tagger.save, args=(folder,), kwargs={"overwrite": True})
    thread.start()
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        try:
            if (folder / "manifest.json").stat().st_ino != before:
                break
        except FileNotFoundError:
            pass
        time.sleep(0.001)
    return thread


@pytest.mark.parametrize("verify", [True, False])
def test_a_tagger_that_is_replaced_while_it_is_loaded_is_one_tagger(tmp_path, monkeypatch, verify):
    few, many = (trained(labels) for labels in KINDS.values())
    many.save(tmp_path / "t")
    threads, read = [], LabelSpace.read

    def slowly(folder):
        labels = read(folder)
        if not threads:  # between the labels and the model
            threads.append(replace(few, tmp_path / "t"))
        return labels

    monkeypatch.setattr(LabelSpace, "read", slowly)
    loaded = Tagger.load(tmp_path / "t", verify=verify)
    threads[0].join(PATIENCE)
    assert loaded.labels_.n_labels == loaded.model_.n_labels_
    text = ["text about c, number 3"]
    assert loaded.tag(text) == (many if loaded.labels_.n_labels == 5 else few).tag(text)
    assert Tagger.load(tmp_path / "t").labels_.n_labels == 2
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


@pytest.mark.parametrize("features", [[-1], ["text"], {"..": {}}, {"../features/text": {}}, "text"])
def test_views_that_are_no_names_of_files_are_refused(tmp_path, features):
    folder = tmp_path / "t"
    trained(KINDS["few"], "most-frequent").save(folder)
    with sealed(folder):
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        (folder / "manifest.json").write_text(json.dumps(manifest | {"features": features}))
    with pytest.raises(DamagedError, match="features must be a table by names of files"):
        Tagger.load(folder)


def test_a_consensus_whose_partner_lacks_a_view_is_refused(tmp_path):
    folder = tmp_path / "t"
    partners = ["one-vs-rest", "most-frequent"]
    trained(KINDS["few"], models.create("consensus", partners=partners)).save(folder)
    with sealed(folder):
        path = folder / "model" / "values.json"
        values = json.loads(path.read_text("utf-8"))
        values["about"][1][0]["views"] = {}
        path.write_text(json.dumps(values))
    with pytest.raises(DamagedError, match="views lack 'text'"):
        Tagger.load(folder)


def test_a_file_that_the_manifest_omits_is_refused(tmp_path):
    trained(KINDS["few"], "most-frequent").save(tmp_path / "t")
    (tmp_path / "t" / "thresholds").mkdir(exist_ok=True)
    (tmp_path / "t" / "thresholds" / "by_hand.npy").write_bytes(b"")
    with pytest.raises(DamagedError, match=r"does not list: .*thresholds"):
        Tagger.load(tmp_path / "t")


def altered(folder, path, change):
    """Change a file of a saved tagger, with a manifest that fits."""
    with sealed(folder):
        change(folder / path)
    return folder


def empty_array(path):
    np.save(path, np.load(path)[:0])


def reverse_bytes(path):
    np.save(path, np.load(path)[::-1])


def huge_min_length(path):
    values = json.loads(path.read_text("utf-8"))
    values["settings"][1]["min_length"] = 2**63
    path.write_text(json.dumps(values))


ALTERED = [
    ("labels/counts.npy", empty_array, "with counts of 0 labels"),
    ("model/neighbours/documents/letters.npy", reverse_bytes, "texts.bytes are not UTF-8"),
    ("features/text/values.json", huge_min_length, "min_length must be .* no more than 2.62"),
]


@pytest.mark.parametrize(("path", "change", "problem"), ALTERED)
def test_an_altered_tagger_is_refused_when_it_is_loaded(tmp_path, path, change, problem):
    texts = [f"Über {label}, Nummer {i}" for i in range(10) for label in ("Bären", "Öl")]
    folder = tmp_path / "t"
    Tagger("knn").fit(texts, [["a"], ["b"]] * 10).save(folder)
    with pytest.raises(DamagedError, match=problem):
        Tagger.load(altered(folder, path, change))
