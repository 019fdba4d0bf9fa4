"""Published settings: each is a model that can be made, and one command runs it."""

import json
import shlex
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest

import labelgrove
from labelgrove import models
from labelgrove.cli.app import run
from labelgrove.cli.recipes import settings_of
from labelgrove.core.errors import InputError
from labelgrove.models.contract import known_answer

RECIPES = sorted((Path(labelgrove.__file__).parent / "recipes").glob("*/*.toml"))
SMALL = {"units": 8, "layers": [8], "epochs": 1, "level_epochs": 1, "ensemble": 1, "batch": 16,
         "max_leaf": 4, "parents": 2, "threads": 1}  # fmt: skip


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_recipe_is_a_model_with_its_data_and_scores(path):
    recipe = tomllib.loads(path.read_text())
    model = models.create(recipe["model"], **recipe["settings"])
    assert model.name == recipe["model"] == path.stem
    about = recipe["about"]
    assert {"data", "from", "files", "source", "scores"} <= about.keys()
    known = {"micro-F1", "macro-F1", "hamming-loss"}
    known |= {f"{name}@{k}" for name in ("P", "nDCG", "PSP") for k in (1, 3, 5)}
    assert about["scores"].keys() <= known
    assert about["scores"] or model.name == "lightattention", "its paper has no figures"
    assert 0 < recipe["validation"] < 0.1


PUBLISHED = {  # units, layers, vectors learn, batch, epochs, averaging from, and below the first
    "eur-lex": (256, [256], False, 40, 30, 10, None),
    "wiki10-31k": (256, [256], False, 40, 30, 4, None),
    "amazoncat-13k": (512, [512, 256], True, 200, 10, 2, None),
    "wiki-500k": (512, [512, 256], True, 200, 5, 2, 1),
    "amazon-670k": (512, [512, 256], True, 200, 10, 6, 2),
}


@pytest.mark.parametrize("where", PUBLISHED)
def test_attentionxml_as_its_authors_trained_it(where):
    path = next(p for p in RECIPES if (p.parent.name, p.stem) == (where, "attentionxml"))
    model = models.create("attentionxml", **tomllib.loads(path.read_text())["settings"])
    found = (model.units, model.layers, model.train_vectors, model.batch, model.epochs,
             model.average_from, model.level_average_from)  # fmt: skip
    assert found == PUBLISHED[where]
    below = model._training_of(below=True)
    assert below.epochs == model.epochs, "every level has as many"
    assert below.average_from == (found[-1] or model.average_from)
    assert (model.learning_rate, model.clip_recent) == (1e-3, 5.0)
    assert (model.evaluate_every, model.patience_evaluations) == (100, 50)


APLC = {  # blocks, tokens, batch, rates of transformer, hidden layer and clusters
    "eur-lex": (2, 512, 12, (5e-5, 1e-4, 2e-3)),
    "wiki10-31k": (2, 512, 12, (1e-5, 1e-4, 1e-3)),
}


@pytest.mark.parametrize(
    "where", sorted({p.parent.name for p in RECIPES if p.stem == "aplc-xlnet"})
)
def test_aplc_xlnet_as_its_authors_trained_it(where):
    path = next(p for p in RECIPES if (p.parent.name, p.stem) == (where, "aplc-xlnet"))
    model = models.create("aplc-xlnet", **tomllib.loads(path.read_text())["settings"])
    assert (model.prior, model.decay, model.clip, model.warmup) == ("none", 2.0, 1.0, 0.0)
    if where in APLC:
        rates = (model.encoder_rate, model.hidden_rate, model.learning_rate)
        assert (len(model.clusters), model.length, model.batch, rates) == APLC[where]


LACO = [path for path in RECIPES if path.stem.startswith("laco")]


@pytest.mark.parametrize("path", LACO, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_laco_as_its_authors_trained_it(path):
    """Printed forms, and their weights of the tasks, which are on other sums than ours."""
    model = models.create(path.stem, **tomllib.loads(path.read_text())["settings"])
    n_labels = {"aapd": 54, "rcv1": 103}[path.parent.name]
    assert (model.prior, model.label_term, model.task_head) == ("none", False, "additive")
    assert model.plcp == (2.0 if path.stem == "laco-plcp" else 0.0)
    given = 10 / (n_labels - 1) if path.stem == "laco-clcp" else 0.0
    assert model.clcp == pytest.approx(given, abs=0.005)
    assert (model.across, model.cosine, model.average) == (10, True, False)


@pytest.mark.parametrize("name", ["lightattention", "laco", "laco-plcp", "laco-clcp", "treaderxml"])
def test_every_paper_has_a_recipe(name):
    assert [path for path in RECIPES if path.stem == name]


def test_every_data_set_has_a_recipe():
    found = {path.parent.name for path in RECIPES}
    assert found >= {"eur-lex", "wiki10-31k", "amazoncat-13k", "wikilshtc", "rcv1", "wiki-500k",
                     "amazon-670k"}  # fmt: skip


@pytest.fixture(scope="module")
def distributed(tmp_path_factory):
    """Files of the form that the authors of AttentionXML give: texts and labels line by line."""
    folder = tmp_path_factory.mktemp("data")
    texts, labels = known_answer(240)
    for part, rows in {"train": slice(0, 180), "test": slice(180, 240)}.items():
        own = [" ".join(label.replace(" ", "_") for label in each) for each in labels[rows]]
        (folder / f"{part}_texts.txt").write_text("\n".join(texts[rows]) + "\n")
        (folder / f"{part}_labels.txt").write_text("\n".join(own) + "\n")
    write_vectors(folder / "glove.txt", texts)
    return folder


def write_vectors(path, texts):
    words = sorted({word for text in texts for word in text.split()})
    rng = np.random.default_rng(0)
    lines = [f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=6))}" for word in words]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("name", ["eur-lex/attentionxml", "amazon-670k/attentionxml"])
def test_one_command(name, distributed, tmp_path, capsys):
    small = [f"--set={key}={value}" for key, value in SMALL.items()]
    train = ["train", str(distributed / "train_texts.txt"), "--recipe", name, "--device", "cpu"]
    train += ["--validation", "0.1", "--out", str(tmp_path / "t"), *small]
    assert run(train) == 2
    assert "glove.840B.300d.txt" in capsys.readouterr().err, "the vectors are not there"
    train.append(f"--set=vectors={distributed / 'glove.txt'}")
    assert run(train) == 0
    assert "attentionxml on held-out documents" in capsys.readouterr().out
    assert run(["evaluate", str(tmp_path / "t"), str(distributed / "test_texts.txt")]) == 0


def rcv1(folder, texts, labels):
    """Write NIST's news items, in a folder and a .zip file, and the topics of LYRL2004."""
    day = folder / "RCV1" / "19960820"
    day.mkdir(parents=True)
    numbers = [*range(2286, 2286 + 180), *range(26151, 26151 + 60)]
    with zipfile.ZipFile(folder / "RCV1" / "19960901.zip", "w") as archive:
        for number, text in zip(numbers, texts, strict=True):
            item = f'<newsitem itemid="{number}"><text><p>{text}</p></text></newsitem>'
            if number < 26151:
                (day / f"{number}newsML.xml").write_text(item)
            else:
                archive.writestr(f"{number}newsML.xml", item)
    lines = [
        f"{label.replace(' ', '_')} {number} 1"
        for number, own in zip(numbers, labels, strict=True)
        for label in own
    ]
    (folder / "RCV1" / "rcv1-v2.topics.qrels").write_text("\n".join(lines) + "\n")


def wikilshtc(folder, texts, labels):
    """Write the texts of Wikipedia medium, five lines a document; the tags' names are ours."""
    known = sorted({label for own in labels for label in own})
    records = [
        f"<d>\n<i>{number}</i>\n<l>{' '.join(str(9 + known.index(label)) for label in own)}</l>\n"
        f"{text}\n</d>\n"
        for number, (text, own) in enumerate(zip(texts, labels, strict=True), 1)
    ]
    name = "wikipediaMediumOriginalLSHTCv3-{}.txt"
    (folder / name.format("train")).write_text("".join(records[:180]))
    (folder / name.format("test")).write_text("".join(records[180:]))


@pytest.mark.parametrize("write", [rcv1, wikilshtc])
def test_the_commands_of_a_recipe(write, tmp_path, monkeypatch, capsys):
    """A recipe's own commands, typed where the data are."""
    texts, labels = known_answer(240)
    write(tmp_path, texts, labels)
    write_vectors(tmp_path / "glove.840B.300d.txt", texts)
    monkeypatch.chdir(tmp_path)
    path = next(p for p in RECIPES if (p.parent.name, p.stem) == (write.__name__, "attentionxml"))
    about = tomllib.loads(path.read_text())["about"]
    small = [f"--set={key}={value}" for key, value in SMALL.items()]
    command, *train = shlex.split(about["train"])
    assert command == "labelgrove"
    assert run([*train, "--validation", "0.1", "--device", "cpu", *small]) == 0
    assert run([*shlex.split(about["test"])[1:], "--json", "scores.json"]) == 0
    scores = json.loads(Path("scores.json").read_text())["scores"]
    assert scores.keys() >= about["scores"].keys()


def test_a_recipe_that_is_not_there(distributed, tmp_path, capsys):
    wrong = ["train", str(distributed / "train_texts.txt"), "--out", str(tmp_path / "t")]
    assert run([*wrong, "--recipe", "eurlex"]) == 2
    told = capsys.readouterr().err
    assert "no recipe 'eurlex'" in told
    assert "eur-lex/attentionxml" in told


def test_dense_vectors_of_the_text_are_a_setting_of_the_model():
    given = ["text.dense=static:a.b/c", "text.dense_weight=0.5", "text.ngrams=[1, 2]", "beam=3"]
    of_model, of_views = settings_of({"features": {"text": {"dense": "minilm"}}}, given)
    assert of_model == {"beam": 3, "dense": "static:a.b/c", "dense_weight": 0.5}
    assert of_views == {"text": {"ngrams": [1, 2]}}
    recipe = {"features": {"text": {"dense_weight": 2.0}}}
    assert settings_of(recipe, []) == ({"dense_weight": 2.0}, {})
    assert recipe == {"features": {"text": {"dense_weight": 2.0}}}
    assert settings_of({}, ["near.dense=1"]) == ({}, {"near": {"dense": 1}})


def test_one_setting_under_two_names_has_one_value():
    same = ["text.dense=static:potion", "dense=static:potion"]
    assert settings_of({}, same)[0] == {"dense": "static:potion"}
    with pytest.raises(InputError, match="as static:potion and as other: give it once"):
        settings_of({}, ["text.dense=static:potion", "dense=other"])
    for recipe in ({"settings": {"dense": "old"}}, {"features": {"text": {"dense": "old"}}}):
        for key in ("dense", "text.dense"):
            assert settings_of(recipe, [f"{key}=new"]) == ({"dense": "new"}, {})
