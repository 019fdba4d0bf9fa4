import subprocess
import sys

import pandas as pd
import pytest

from command_line import fails
from labelgrove import Tagger, read_corpus
from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.reader_words import either, for_reader, of_command


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("name it (text=..., --text-field)", "name it (text=...)"),
        ("anew (overwrite=True, --overwrite), or", "anew (overwrite=True), or"),
        ("(resume=False; --overwrite without --resume)", "(resume=False)"),
        ("go on (--resume)", "go on (resume=True)"),
        ("(--encoding windows-1252)", "(encoding='windows-1252')"),
        ("(--encoding auto)", "(encoding='auto')"),
        ("(--sheet NAME)", "(sheet=NAME)"),
        ("--no-header --text-field 2 --labels-field 1", "header=False, text='2', labels='1'"),
        ("give the separator (--separator), ','", "give the separator (separator=), ','"),
        ("--validation 0.1 or --valid FILE", "validation=0.1 or validation=FILE"),
        ("names by --labels", "names by vocabulary="),
        ("'labelgrove sign --new-key FILE'", "'labelgrove sign --new-key FILE'"),
        ("the file a--labels.csv and --labels.csv", "the file a--labels.csv and vocabulary=.csv"),
        ("pip install --upgrade labelgrove", "pip install --upgrade labelgrove"),
    ],
)
def test_options_become_arguments_in_python(options, arguments):
    assert for_reader(options) == arguments
    with of_command():
        assert for_reader(options) == options
    assert for_reader(options) == arguments


def test_two_wordings():
    assert either("fit", "train") == "fit"
    with of_command():
        assert either("fit", "train") == "train"


def test_processes_of_a_command_know_their_reader():
    code = "from labelgrove.core.reader_words import for_reader; print(for_reader('--skip-bad'))"
    for command, said in ((True, "--skip-bad"), (False, "on_bad='skip'")):
        if command:
            with of_command():
                done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        else:
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.strip() == said


def test_the_same_mistake_in_both_worlds(tmp_path):
    file = tmp_path / "train.csv"
    file.write_text("title,subjects\nWind,energy\n")
    with pytest.raises(InputError, match=r"name the one that holds the text \(text=...\)"):
        Tagger().fit(file)
    said = fails("train", file, "--out", tmp_path / "out")
    assert "--text-field" in said
    file.write_bytes("text,labels\nCaf\u00e9,energy\n".encode("latin-1") * 3)
    with pytest.raises(BadRowError, match=r"encoding='auto'") as problem:
        list(read_corpus(file, encoding="utf-8"))
    assert "--" not in problem.value.problem
    frame = pd.DataFrame({"text": ["Wind"], "labels": ["a,b"]})
    with pytest.raises(InputError, match=r"give the separator \(separator=\)"):
        list(read_corpus(frame))
