"""Where the feedback of a tagger is kept."""

import pytest

from labelgrove.tagger.feedback import feedback_file


@pytest.mark.parametrize("way", ["my-tagger", "my-tagger/", "./my-tagger/.", "other/../my-tagger"])
def test_feedback_lies_beside_the_tagger(way, tmp_path, monkeypatch):
    (tmp_path / "my-tagger").mkdir()
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    assert feedback_file(way) == tmp_path / "my-tagger.feedback.jsonl"


def test_the_folder_itself_and_a_link_to_it_have_one_place(tmp_path, monkeypatch):
    folder = tmp_path / "v1.2"
    folder.mkdir()
    (tmp_path / "current").symlink_to(folder)
    monkeypatch.chdir(folder)
    for way in (".", "", folder, tmp_path / "current", "../current/"):
        assert feedback_file(way) == tmp_path / "v1.2.feedback.jsonl"


def test_a_tagger_that_is_not_there_yet_has_a_place_too(tmp_path):
    assert feedback_file(tmp_path / "new") == tmp_path / "new.feedback.jsonl"
