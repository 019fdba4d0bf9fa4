"""Trials: what is said of a new tagger before it is served."""

import asyncio

import pytest

from labelgrove.core.errors import StorageError
from labelgrove.service.settings import Settings
from labelgrove.service.trial import _problem, try_out
from services import made


@pytest.mark.parametrize(
    ("said", "code", "problem"),
    [
        (b'{"problem": ""}\n', 0, ""),
        (b'a library says\n{"problem": "it is damaged"}\n', 0, "it is damaged"),
        (b'{"problem": ""}\n', -11, "the process that tried it was ended by SIGSEGV"),
        (b"", 0, "the process that tried it ended with code 0 and said nothing"),
        (b"", 1, "the process that tried it ended with code 1 and said nothing"),
        (b"nothing\n", 3, "the process that tried it ended with code 3 and said nothing"),
        (b"[]\n", 3, "the process that tried it ended with code 3 and said nothing"),
    ],
)
def test_what_is_wrong_is_what_was_said_last(said, code, problem):
    assert _problem(said, code) == problem


def test_a_good_tagger_passes_and_a_damaged_one_is_named_by_its_folder(tmp_path, capfd):
    snapshot = tmp_path / "snapshot"
    made(snapshot, "most-frequent")
    settings = Settings((), (), keys=("a-key-of-more-than-sixteen-letters",))
    asyncio.run(try_out("own", "models/own", str(snapshot), settings))
    file = max(snapshot.rglob("*.npy"), key=lambda each: each.stat().st_size)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(StorageError, match=r"models/own") as refused:
        asyncio.run(try_out("own", "models/own", str(snapshot), settings))
    assert str(snapshot) not in str(refused.value)
    assert "Traceback" not in capfd.readouterr().err
