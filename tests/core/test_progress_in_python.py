"""Progress where it is asked for in Python, in a notebook too."""

import builtins
import sys

import pytest

from labelgrove import Tagger
from labelgrove.core.progress import Bars, Lines, Silent, as_progress
from labelgrove.corpus import Corpus

TEXTS = ["red apples and green apples", "a red car", "green cars drive"] * 4
LABELS = [["fruit", "colour"], ["colour", "vehicle"], ["colour", "vehicle"]] * 4


@pytest.fixture
def notebook(monkeypatch):
    """What rich knows a notebook by."""
    shell = type("ZMQInteractiveShell", (), {})
    monkeypatch.setattr(builtins, "get_ipython", shell, raising=False)


def test_what_is_shown_where(monkeypatch):
    assert isinstance(as_progress(None), Silent)
    assert isinstance(as_progress(False), Silent)
    own = Lines()
    assert as_progress(own) is own
    assert isinstance(as_progress(True), Lines)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert isinstance(as_progress(True), Bars)


def test_a_notebook_has_bars_if_it_can_draw_them(notebook, monkeypatch, capsys):
    as_progress(True).say("a line")
    assert capsys.readouterr().out == "a line\n"  # no widgets: not in red, as errors are
    monkeypatch.setattr("labelgrove.core.progress.find_spec", lambda name: name == "ipywidgets")
    assert isinstance(as_progress(True), Bars)


def test_learning_tagging_and_scoring_show_how_it_goes(capsys, tmp_path):
    def said(done):
        return done, capsys.readouterr().err

    quiet, nothing = said(Tagger("one-vs-rest").fit(TEXTS, LABELS))
    tagger, learning = said(Tagger("one-vs-rest").fit(TEXTS, LABELS, progress=True))
    assert not nothing
    assert "reading: 12 documents in" in learning
    _, tagging = said([*tagger.stream(Corpus.from_lists(TEXTS), progress=True)])
    assert "tagging: 12 documents in" in tagging
    _, scoring = said(tagger.evaluate(TEXTS, LABELS, progress=True))
    assert "tagging: 12 documents in" in scoring
    _, saving = said(tagger.save(tmp_path / "t", progress=True))
    assert "saving to" in saving
    assert [*quiet.stream(Corpus.from_lists(TEXTS))] == [*tagger.stream(Corpus.from_lists(TEXTS))]
    assert not capsys.readouterr().err
