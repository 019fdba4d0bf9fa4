import io
import re

import pytest

from labelgrove.core.progress import Bars, Lines, OnlyWarnings, QualityNote, Silent, for_stream


class Terminal(io.StringIO):
    def isatty(self):
        return True


def lines_of(stream):
    return stream.getvalue().splitlines()


def test_lines_tell_speed_time_left_and_the_end():
    out = io.StringIO()
    with Lines(out, seconds=0).task("reading", total=4) as task:
        task.advance(1, loss=0.123456)
    first, last = lines_of(out)
    assert re.fullmatch(
        r"reading: 1 document of 4 \(25%\), \d+ s left, [\d,]+/s, loss 0\.1235", first
    )
    assert re.fullmatch(r"reading: 1 document in \d+\.\d s, loss 0\.1235", last)


def test_lines_without_a_total():
    out = io.StringIO()
    with Lines(out, seconds=0).task("reading", unit="lines") as task:
        task.advance(1500, epoch=2, state="ok")
    assert re.fullmatch(r"reading: 1,500 lines, [\d,]+/s, epoch 2, state ok", lines_of(out)[0])


def test_lines_come_seldom():
    out = io.StringIO()
    with Lines(out, seconds=3600).task("reading") as task:
        for _ in range(100):
            task.advance()
    assert len(lines_of(out)) == 1
    assert lines_of(out)[0].startswith("reading: 100 documents in ")


def test_an_error_ends_a_task_without_a_closing_line():
    out = io.StringIO()
    with pytest.raises(RuntimeError), Lines(out, seconds=3600).task("reading"):
        raise RuntimeError
    assert lines_of(out) == []


def test_more_steps_than_the_total():
    out = io.StringIO()
    with Lines(out, seconds=0).task("reading", total=2) as task:
        task.advance(3)
    assert "3 documents of 2 (150%), 0 s left" in lines_of(out)[0]


def test_lines_go_to_standard_error(capsys):
    Lines().say("hello")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "hello\n")


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 200])
def test_track_counts_every_item(n):
    out = io.StringIO()
    progress = Lines(out, seconds=3600)
    assert list(progress.track(iter(range(n)), "counting")) == list(range(n))
    counted = "1 document" if n == 1 else f"{n} documents"
    assert lines_of(out)[-1].startswith(f"counting: {counted} in ")


def test_track_knows_the_length_of_a_list():
    out = io.StringIO()
    list(Lines(out, seconds=0).track([1, 2], "counting"))
    assert "2 documents of 2 (100%)" in lines_of(out)[0]


def test_silence(capsys):
    progress = Silent()
    progress.say("hello")
    with progress.task("reading", 3) as task:
        task.advance(2, loss=1.0)
    assert list(progress.track("abc", "counting")) == ["a", "b", "c"]
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


def test_bars_show_title_count_and_facts_on_standard_error(capsys):
    bars = Bars()
    bars.say("[bold] is no markup here")
    with bars.task("reading", total=3) as task:
        task.advance(2, loss=0.25)
    with bars.task("counting") as task:
        task.advance(1500)
    captured = capsys.readouterr()
    assert captured.out == ""
    shown = " ".join(captured.err.split())
    assert "[bold] is no markup here" in shown
    assert "reading" in shown
    assert "1,500 documents" in shown


def test_a_terminal_gets_bars_and_a_pipe_lines():
    assert isinstance(for_stream(Terminal()), Bars)
    assert isinstance(for_stream(io.StringIO()), Lines)


def test_what_was_done_before_is_no_speed():
    out = io.StringIO()
    with Lines(out, seconds=0).task("training", total=8, done=5) as task:
        task.advance(1)
    first, last = lines_of(out)
    assert first.startswith("training: 6 documents of 8 (75%), ")
    assert last.startswith("training: 1 document in ")


def test_quiet_leaves_warnings_about_worse_labels(capsys):
    quiet = OnlyWarnings()
    quiet.say("loading")
    quiet.note("all went well")
    quiet.note(QualityNote("2 texts were not \x1b[31masked"))
    quiet.warn("nothing was learned")
    said = capsys.readouterr()
    assert said.err == "2 texts were not \\x1b[31masked\nnothing was learned\n"
    assert said.out == ""
    Silent().note(QualityNote("in Python nothing is printed unasked"))
    assert capsys.readouterr().err == ""
