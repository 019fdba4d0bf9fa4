"""Published data sets: files of each form as they are given out, and what is none of them."""

import hashlib
import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix, save_npz

import labelgrove
from labelgrove.core.errors import BadRowError, InputError
from labelgrove.corpus import read_corpus
from labelgrove.corpus.published import SETS, convert, find_set

RECIPES = sorted((Path(labelgrove.__file__).parent / "recipes").glob("*/*.toml"))
TEXTS = {"train": ["Wind and sun", "Wheat"], "test": ["A wind farm"]}
LABELS = {"train": [("energy",), ("farming", "food")], "test": [("energy", "farming")]}


def small(name, version, labels, **numbers):
    """A data set of the catalogue, with one version and the numbers of a small one."""
    data = find_set(name)
    chosen = next(each for each in data.versions if each.name == version)
    parts = tuple(replace(part, documents=numbers[part.name]) for part in chosen.parts)
    return replace(data, versions=(replace(chosen, parts=parts, labels=labels),))


def lines(folder, names):
    for part, (texts, labels) in names.items():
        (folder / texts).write_text("".join(f"{text}\n" for text in TEXTS.get(part, ["Sun"])))
        own = LABELS.get(part, [("energy",)])
        (folder / labels).write_text("".join(" ".join(each) + "\n" for each in own))


def attentionxml(folder):
    lines(folder, {part: (f"{part}_raw_texts.txt", f"{part}_labels.txt") for part in TEXTS})
    return small("wiki10-31k", "attentionxml", (3,), train=2, test=1)


def read(path):
    return [(document.text, document.labels) for document in read_corpus(path)]


def test_texts_and_labels_on_lines(tmp_path):
    data = attentionxml(tmp_path)
    found = convert(data, [tmp_path], tmp_path / "out")
    assert [file.name for file in found.files] == ["train.jsonl", "test.jsonl"]
    for part in TEXTS:
        documents = list(zip(TEXTS[part], LABELS[part], strict=True))
        assert read(tmp_path / "out" / f"{part}.jsonl") == documents
    assert (found.documents, found.labels) == ({"train": 2, "test": 1}, 3)
    text = (tmp_path / "train_labels.txt").read_bytes()
    assert found.checksums["train_labels.txt"] == hashlib.sha256(text).hexdigest()
    assert found.differs == ()


def test_three_parts_without_suffixes(tmp_path):
    short = {"train": "train", "valid": "val", "test": "test"}
    lines(tmp_path, {part: (f"text_{end}", f"label_{end}") for part, end in short.items()})
    data = small("aapd", "sgm", (3,), train=2, valid=1, test=1)
    convert(data, [tmp_path], tmp_path / "out")
    assert read(tmp_path / "out" / "valid.jsonl") == [("Sun", ("energy",))]


def test_a_matrix_and_names_of_labels(tmp_path):
    for short, part in (("trn", "train"), ("tst", "test")):
        (tmp_path / f"X.{short}.txt").write_text("".join(f"{text}\n" for text in TEXTS[part]))
    save_npz(tmp_path / "Y.trn.npz", csr_matrix(np.array([[1, 0, 0], [0, 1, 1]])))
    save_npz(tmp_path / "Y.tst.npz", csr_matrix(np.array([[1, 1, 0]])))
    (tmp_path / "output-items.txt").write_text("energy\nfarming\n\tfood\n")
    data = small("eur-lex", "pecos", (3,), train=2, test=1)
    found = convert(data, [tmp_path], tmp_path / "out")
    assert read(tmp_path / "out" / "train.jsonl")[1] == ("Wheat", ("1", "2"))
    names = (tmp_path / "out" / "labels.tsv").read_text()
    assert names == "0\tenergy\n1\tfarming\n2\tfood\n"
    assert found.files[-1].name == "labels.tsv"
    (tmp_path / "output-items.txt").write_text("energy\nfarming\n")
    with pytest.raises(InputError, match="has names of 2 labels, and the documents have 3 labels"):
        convert(data, [tmp_path], tmp_path / "cut", any_version=True)
    assert not list((tmp_path / "cut").iterdir())


def test_features_stay_features(tmp_path):
    (tmp_path / "eurlex_train.txt").write_text("2 10 3\n0,2 4:0.5 9:1\n 1:2\n")
    (tmp_path / "eurlex_test.txt").write_text("1 10 3\n1 3:1\n")
    data = small("eur-lex", "repository", (3,), train=2, test=1)
    convert(data, sorted(tmp_path.glob("*.txt")), tmp_path / "out")
    corpus = read_corpus(tmp_path / "out" / "train.svm")
    assert corpus.featurizer == "given"
    assert [(each.text, each.labels) for each in corpus] == [
        ("4:0.5 9:1", ("0", "2")), ("1:2", ())
    ]  # fmt: skip


def test_rcv1_and_the_challenge_are_read_by_their_own_readers(tmp_path):
    tokens = ".I {}\n.W\nrecov excit\n\n"
    (tmp_path / "lyrl2004_tokens_train.dat").write_text(tokens.format(2286))
    (tmp_path / "lyrl2004_tokens_test_pt0.dat").write_text(tokens.format(26151))
    (tmp_path / "rcv1-v2.topics.qrels").write_text("E11 2286 1\nC15 26151 1\n")
    data = small("rcv1", "lyrl2004", (2,), train=1, test=1)
    convert(data, [tmp_path], tmp_path / "out")
    assert read(tmp_path / "out" / "test.jsonl") == [("recov excit", ("C15",))]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"train": 3}, "train has 2 documents instead of 3"),
        ({"labels": (4, 5)}, "in all 3 labels instead of 4 or 5"),
    ],
)
def test_other_numbers_are_another_version(change, told, tmp_path):
    attentionxml(tmp_path)
    numbers = {"train": 2, "test": 1, "labels": (3,), **change}
    data = small("wiki10-31k", "attentionxml", **numbers)
    with pytest.raises(InputError, match=f"{told}.*--any-version|{told}.*any_version"):
        convert(data, [tmp_path], tmp_path / "out")
    assert not list((tmp_path / "out").iterdir()), "nothing is left of it"
    found = convert(data, [tmp_path], tmp_path / "out", any_version=True)
    assert found.differs == (told,)


def test_known_checksums_decide(tmp_path):
    data = attentionxml(tmp_path)
    text = (tmp_path / "train_labels.txt").read_bytes()
    right = {"train_labels.txt": hashlib.sha256(text).hexdigest()}
    wrong = {"train_labels.txt": "0" * 64}
    known = replace(data.versions[0], labels=(99,), checksums=right)  # labels are not asked then
    found = convert(replace(data, versions=(known,)), [tmp_path], tmp_path / "right")
    assert found.differs == ()
    other = replace(data, versions=(replace(known, checksums=wrong),))
    with pytest.raises(InputError, match=r"the sha256 of train_labels\.txt is .* instead of 000"):
        convert(other, [tmp_path], tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


def test_missing_files_are_named(tmp_path):
    data = attentionxml(tmp_path)
    (tmp_path / "test_labels.txt").unlink()
    with pytest.raises(InputError, match=r"not the files of wiki10-31k.*test_labels\.txt"):
        convert(data, [tmp_path], tmp_path / "out")


def test_files_of_other_lengths_leave_nothing(tmp_path):
    data = attentionxml(tmp_path)
    (tmp_path / "test_labels.txt").write_text("energy\nfarming\n")
    with pytest.raises(BadRowError, match="fewer lines"):
        convert(data, [tmp_path], tmp_path / "out", any_version=True)
    assert not list((tmp_path / "out").iterdir())


def test_files_that_are_there_stay(tmp_path):
    data = attentionxml(tmp_path)
    (tmp_path / "out").mkdir()
    old = tmp_path / "out" / "train.jsonl"
    old.write_text("old")
    with pytest.raises(InputError, match="is there already"):
        convert(data, [tmp_path], tmp_path / "out")
    assert old.read_text() == "old"
    with pytest.raises(InputError, match="no earlier conversion wrote it"):
        convert(data, [tmp_path], tmp_path / "out", overwrite=True)
    assert old.read_text() == "old"
    (tmp_path / "out" / "conversion.json").write_text('{"files": "train.jsonl"')
    with pytest.raises(InputError, match="no record of a conversion"):
        convert(data, [tmp_path], tmp_path / "out", overwrite=True)


def test_another_conversion_takes_the_place_of_an_earlier_one(tmp_path):
    data, out = attentionxml(tmp_path), tmp_path / "out"
    convert(data, [tmp_path], out)
    with pytest.raises(InputError, match=r"is there already; choose another folder, or allow"):
        convert(data, [tmp_path], out)
    record = json.loads((out / "conversion.json").read_text())
    assert (record["set"], record["version"]) == ("wiki10-31k", "attentionxml")
    record["files"].append("labels.tsv")
    (out / "conversion.json").write_text(json.dumps(record))
    (out / "labels.tsv").write_text("names of another set\n")
    (out / "notes.txt").write_text("mine\n")
    convert(data, [tmp_path], out, overwrite=True)
    assert {path.name for path in out.iterdir()} == {
        "train.jsonl", "test.jsonl", "conversion.json", "notes.txt",
    }  # fmt: skip


def test_unknown_names_are_told():
    with pytest.raises(InputError, match=r"unknown data set 'eurlex'; .*eur-lex"):
        find_set("eurlex")
    with pytest.raises(InputError, match="unknown version of aapd 'pecos'"):
        convert(find_set("aapd"), [Path()], Path("out"), version="pecos")


def test_checksums_are_checksums():
    for data in SETS:
        for version in data.versions:
            assert all(re.fullmatch("[0-9a-f]{64}", each) for each in version.checksums.values())


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_recipes_name_data_of_the_catalogue(path):
    about = tomllib.loads(path.read_text())["about"]["data"]
    versions = find_set(path.parent.name).versions
    numbers = {int(each.replace(",", "")) for each in re.findall(r"\d[\d,]*\d", about)}
    assert any(
        {part.documents for part in each.parts} <= numbers and {*each.labels} & numbers
        for each in versions
    )
