"""The README's Python runs and prints what it says; its commands exist."""

import contextlib
import io
import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def test_the_python_prints_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    shown = README.split(code)[1].split("```text\n")[1].split("```")[0]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == shown


def test_the_commands_run_on_the_csv_that_is_shown(tmp_path, monkeypatch, capsys):
    from labelgrove.cli.app import run

    monkeypatch.chdir(tmp_path)
    table = next(block for block in blocks("text") if block.startswith("text,labels"))
    for name in ("train.csv", "test.csv", "new.csv"):
        Path(name).write_text(table)
    commands = next(block for block in blocks("sh") if "labelgrove train" in block)
    lines = [line.split("#")[0].split(">")[0].strip() for line in commands.splitlines()]
    assert len(lines) == 15
    import shlex

    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "labelgrove"
        assert run(arguments) == 0, capsys.readouterr().err
    assert "energy policy" in capsys.readouterr().out


def test_every_model_is_in_the_table():
    from labelgrove import models

    listed = re.findall(r"^\| `([\w-]+)` \|", README, re.M)
    assert listed == models.names()
