"""SIGHUP and the terminal."""

import os
import signal

import pytest

from labelgrove.service import signals
from labelgrove.service.signals import Terminal, ending, sighup_blocked


@pytest.mark.parametrize("there", [True, False])
def test_a_terminal_is_one_that_can_be_opened(monkeypatch, there):
    real, files = os.open, []

    def opened(path, flags):
        if not there:
            raise OSError("no terminal")
        files.append(real("/dev/null", flags))
        return files[-1]

    monkeypatch.setattr(signals.os, "open", opened)
    monkeypatch.setattr(signals.signal, "getsignal", lambda _: signal.SIG_DFL)  # nohup or not
    found = Terminal.of_this_process(), Terminal(True).is_gone(), Terminal(False).is_gone()
    assert found == (Terminal(there), not there, False)
    for file in files:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(file)


def test_nohup_lets_a_service_go_on_without_its_terminal(monkeypatch):
    monkeypatch.setattr(signals, "_is_there", lambda: True)
    kept = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert Terminal.of_this_process() == Terminal(False)
    finally:
        signal.signal(signal.SIGHUP, kept)


def is_blocked():
    return signal.SIGHUP in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_signal_waits_until_it_is_let_in():
    received = []
    kept = signal.signal(signal.SIGHUP, lambda *_: received.append(True))
    try:
        with sighup_blocked():
            assert is_blocked()
            signal.raise_signal(signal.SIGHUP)  # to this thread: others do not block it
            assert received == []
        assert not is_blocked()
        assert received == [True]
        with pytest.raises(KeyError), sighup_blocked():
            raise KeyError
        assert not is_blocked()
    finally:
        signal.signal(signal.SIGHUP, kept)


@pytest.mark.parametrize(
    ("code", "said"),
    [(0, "ended with code 0"), (-9, "was ended by SIGKILL"), (-200, "was ended by signal 200")],
)
def test_how_a_process_ended(code, said):
    assert ending(code) == said
