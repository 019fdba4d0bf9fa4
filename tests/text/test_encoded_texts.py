import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from labelgrove.text.encoded_texts import EncodedTexts, text_key, user_folder

KEYS = [text_key(f"text {number}") for number in range(1200)]
VECTORS = np.random.default_rng(0).standard_normal((1200, 3)).astype(np.float32)


def same(found, rows):
    return [*found] == [KEYS[i] for i in rows] and all(
        np.array_equal(found[KEYS[i]], VECTORS[i]) for i in rows
    )


def ordered(found):
    return {key: found[key] for key in KEYS if key in found}


def test_vectors_are_found_again_as_they_were(tmp_path):
    kept = EncodedTexts(tmp_path, "model", 3)
    assert kept.find(KEYS) == {}
    kept.keep(KEYS[:1100], VECTORS[:1100])
    again = EncodedTexts(tmp_path, "model", 3)
    assert same(ordered(again.find(KEYS)), range(1100))
    assert EncodedTexts(tmp_path, "another", 3).find(KEYS) == {}
    again.keep(KEYS[:1], VECTORS[1:2])
    assert np.array_equal(kept.find(KEYS[:1])[KEYS[0]], VECTORS[1])


def test_keys_are_of_the_text_alone():
    assert len(text_key("")) == 16
    assert text_key("a\ud800") != text_key("a")


@pytest.mark.parametrize("content", [b"", b"no database at all " * 99])
def test_a_damaged_file_is_replaced(tmp_path, content):
    kept = EncodedTexts(tmp_path, "model", 3)
    (tmp_path / "model.sqlite").write_bytes(content)
    assert kept.find(KEYS[:2]) == {}
    kept.keep(KEYS[:2], VECTORS[:2])
    assert same(kept.find(KEYS[:2]), range(2))


def test_a_file_that_was_cut_or_altered_gives_no_wrong_vectors(tmp_path):
    kept, path = EncodedTexts(tmp_path, "model", 3), tmp_path / "model.sqlite"
    kept.keep(KEYS, VECTORS)
    whole = path.read_bytes()
    for at in range(0, len(whole), 997):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
        found = kept.find(KEYS)
        assert all(
            np.array_equal(found[KEYS[i]], VECTORS[i]) for i in range(1200) if KEYS[i] in found
        )
    path.write_bytes(whole[: len(whole) // 2])
    kept.find(KEYS)
    kept.keep(KEYS[:9], VECTORS[:9])
    assert same(ordered(kept.find(KEYS[:9])), range(9))


def test_vectors_of_another_size_are_none(tmp_path):
    EncodedTexts(tmp_path, "model", 3).keep(KEYS[:1], VECTORS[:1])
    assert EncodedTexts(tmp_path, "model", 2).find(KEYS[:1]) == {}


def test_the_oldest_go_where_there_is_no_room(tmp_path):
    kept = EncodedTexts(tmp_path, "model", 3, limit=72 * 100)
    for first in range(0, 300, 50):
        kept.keep(KEYS[first : first + 50], VECTORS[first : first + 50])
    assert same(ordered(kept.find(KEYS)), range(200, 300))


def test_files_of_other_models_go_first(tmp_path):
    EncodedTexts(tmp_path, "old", 3).keep(KEYS, VECTORS)
    size = (tmp_path / "old.sqlite").stat().st_size
    EncodedTexts(tmp_path, "new", 3, limit=3 * size).keep(KEYS, VECTORS)
    assert (tmp_path / "old.sqlite").exists()
    EncodedTexts(tmp_path, "new", 3, limit=size).keep(KEYS[:1], VECTORS[:1])
    assert [path.name for path in tmp_path.iterdir()] == ["new.sqlite"]


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path):
    (tmp_path / "file").write_text("")
    kept = EncodedTexts(tmp_path / "file" / "folder", "model", 3)
    kept.keep(KEYS, VECTORS)
    assert kept.find(KEYS) == {}


def test_while_another_process_writes_it_is_waited_for_or_gone_without(tmp_path, monkeypatch):
    kept = EncodedTexts(tmp_path, "model", 3)
    kept.keep(KEYS[:1], VECTORS[:1])
    monkeypatch.setattr("labelgrove.text.encoded_texts.WAIT", 0.1)
    other = sqlite3.connect(tmp_path / "model.sqlite")
    other.execute("BEGIN EXCLUSIVE")
    kept.keep(KEYS[1:2], VECTORS[1:2])
    assert kept.find(KEYS[:2]) == {}
    other.close()
    assert same(kept.find(KEYS[:2]), range(1))


def test_two_processes_write_at_once(tmp_path):
    code = (
        "import sys, numpy as np; from pathlib import Path\n"
        "from labelgrove.text.encoded_texts import EncodedTexts, text_key\n"
        "kept, start = EncodedTexts(Path(sys.argv[1]), 'model', 3), int(sys.argv[2])\n"
        "for n in range(start, start + 60):\n"
        "    kept.keep([text_key(f'text {n}')], np.full((1, 3), n, np.float32))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(start)])
        for start in (0, 60)
    ]
    assert [process.wait() for process in running] == [0, 0]
    found = EncodedTexts(tmp_path, "model", 3).find(KEYS[:120])
    assert [found[key][0] for key in KEYS[:120]] == [*range(120)]


def test_where_a_user_keeps_them(monkeypatch, tmp_path):
    monkeypatch.delenv("LABELGROVE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_folder() == tmp_path / "labelgrove"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_folder() == tmp_path / ".cache" / "labelgrove"
    monkeypatch.setenv("LABELGROVE_CACHE", "~/mine")
    assert user_folder() == Path(tmp_path / "mine")
    monkeypatch.setenv("LABELGROVE_CACHE", "off")
    assert user_folder() is None
    assert EncodedTexts.of_user("model", 3) is None
