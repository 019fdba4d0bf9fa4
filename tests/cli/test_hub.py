"""`labelgrove push` and `pull` in processes of their own, and `evaluate --card`."""

import huggingface_hub.constants as constants
import pytest

from command_line import called, fails, labelgrove
from hub_server import TOKEN, HubServer
from labelgrove.core.manifest import CARD


@pytest.fixture(scope="module")
def made(data):
    """A small tagger."""
    called("train", data / "train.jsonl", "--model", "most-frequent", "--out", data / "tagger")
    return data


@pytest.fixture(scope="module")
def around(tmp_path_factory):
    """A server, and the environment in which it is the hub."""
    server = HubServer()
    yield (
        server,
        {
            "HF_ENDPOINT": server.url,
            "HF_HOME": str(tmp_path_factory.mktemp("hf")),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_OFFLINE": "0",
            "HF_TOKEN": TOKEN,
        },
    )
    server.close()


def test_there_and_back_by_the_environment(made, around, tmp_path):
    server, environment = around
    done = labelgrove("push", made / "tagger", "me/small", "--license", "mit", **environment)
    commit = server.repositories["me/small"].branches["main"]
    assert done.stdout == f"pushed: {server.url}/me/small/commit/{commit}\n"
    (said,) = done.stderr.splitlines()
    assert f" MB, to {server.url}/me/small, which is PUBLIC: anyone can read" in said
    done = labelgrove("pull", "me/small", "--quiet", cwd=tmp_path, **environment)
    assert done.stdout == f"pulled me/small at commit {commit} to small\n"
    assert done.stderr == ""
    server.requests.clear()
    offline = environment | {"HF_HUB_OFFLINE": "1"}
    done = labelgrove("pull", "me/small", "--out", "again", cwd=tmp_path, **offline)
    assert done.stderr.startswith("me/small at ")
    assert server.requests == []
    tagged = [
        called("tag", folder, "--text", "x", "-k", 1, "--quiet").stdout
        for folder in (made / "tagger", tmp_path / "small", tmp_path / "again")
    ]
    assert tagged[0] == tagged[1] == tagged[2]


def test_a_missing_folder_names_the_way(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = fails("tag", "me/small", "--text", "x")
    assert (
        "no such folder: me/small; if it is a tagger on the Hugging Face hub, 'labelgrove" in said
    )


def test_pushing_offline_is_one_line(made, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE is set" in fails("push", made / "tagger", "me/small")
    assert "'small' is no repository" in fails("push", made / "tagger", "small")
    assert "'small' is no repository" in fails("pull", "small")


def test_evaluate_writes_its_scores_into_the_card_only_if_asked(made):
    card = made / "tagger" / CARD
    before = card.read_text()
    called("evaluate", made / "tagger", made / "test.jsonl")
    assert card.read_text() == before
    called("evaluate", made / "tagger", made / "test.jsonl", "--card")
    assert "| held-out documents | test.jsonl |" in card.read_text()
    assert "| documents | " in card.read_text()
    called("doctor", made / "tagger")
    card.write_text("# Mine\n")
    done = called("evaluate", made / "tagger", made / "test.jsonl", "--card")
    assert "README.md was edited by hand, so it stays as it is" in done.stderr
    assert card.read_text() == "# Mine\n"
