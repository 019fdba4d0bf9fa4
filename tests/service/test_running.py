"""Several workers, reloading, stopping: no request is dropped."""

import contextlib
import os
import pty
import shutil
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from command_line import fails, labelgrove
from labelgrove import Tagger
from processes import PATIENCE, gone
from services import made, serving


@pytest.fixture
def own(tmp_path):
    """The folder of a tagger that a test may change."""
    made(tmp_path / "own")
    return tmp_path / "own"


def children(process):
    with open(f"/proc/{process}/task/{process}/children") as file:  # noqa: PTH123
        found = [int(each) for each in file.read().split()]
    return [each for each in found if b"resource_tracker" not in command(each)]


def command(process):
    with open(f"/proc/{process}/cmdline", "rb") as file:  # noqa: PTH123
        return file.read()


def eventually(holds):
    ends = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.02)


@contextlib.contextmanager
def load(service, clients=4):
    """Ask all the time; yields what was answered: status and the number of labels known."""
    answers, failed, stop = [], [], threading.Event()

    def ask():
        connection = service.connect()
        try:
            while not stop.is_set():
                body = {"text": "red apples in green cars", "k": 10}
                got = service.ask("/v1/tag", body, connection=connection)
                answers.append((got.status, len(got.json["results"][0]["labels"])))
        except Exception as error:
            failed.append(error)
        finally:
            connection.close()

    with ThreadPoolExecutor(clients) as pool:
        for _ in range(clients):
            pool.submit(ask)
        try:
            eventually(lambda: len(answers) > 20)
            yield answers
        finally:
            stop.set()
    assert failed == []
    assert {status for status, _ in answers} == {200}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("how", ["signal", "call"])
def test_a_tagger_saved_anew_is_loaded_while_requests_are_answered(own, workers, how):
    with serving(own, "--no-feedback", "--workers", workers, "--quiet") as service:
        with load(service) as answers:
            assert {labels for _, labels in answers} == {4}
            texts = [f"{word} {i}" for i in range(10) for word in ("a red apple", "a pear")]
            made(own, texts=texts, labels=[["fruit"], ["pear"]] * 10, overwrite=True)
            if how == "signal":
                service.process.send_signal(signal.SIGHUP)
            else:
                assert service.ask("/v1/reload", method="POST").json == {"reloaded": ["own"]}
            eventually(lambda: {labels for _, labels in answers[-30:]} == {2})
        assert service.ask("/v1/reload", method="POST").json == {"reloaded": []}
        assert service.ask("/v1/models").json["models"][0]["labels"] == 2


def test_a_tagger_that_cannot_be_loaded_goes_on_as_it_was(own):
    with serving(own, "--no-feedback") as service:
        shutil.rmtree(own)
        got = service.ask("/v1/reload", method="POST")
        assert got.status == 409
        assert "the old one goes on" in got.detail
        assert "no such folder" in got.json["errors"][0]["message"]
        assert service.ask("/v1/tag", {"text": "red apples"}).status == 200
        service.process.send_signal(signal.SIGHUP)
        eventually(lambda: sum("goes on as it was" in line for line in service.told) == 2)
        assert service.is_well()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_what_was_asked_is_answered_before_it_ends(taggers, workers, how):
    with serving(
        taggers / "bonsai", "--no-feedback", "--workers", workers, "--batch-wait", "1000"
    ) as service:
        processes = children(service.process.pid) if workers > 1 else []
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(service.ask, "/v1/tag", {"text": "red apples"}) for _ in range(4)]
            time.sleep(0.5)  # they wait for one another
            assert service.stop(how) == 0
            assert [each.result().status for each in asked] == [200] * 4
        with pytest.raises(ConnectionRefusedError):
            service.socket()
        assert all(gone(each) for each in processes)
    assert not any("Traceback" in line for line in service.told)


def test_workers_count_together_share_limits_and_are_replaced(taggers):
    with serving(taggers / "bonsai", "--no-feedback", "--workers", "2", "--rate", "60") as service:
        began = time.monotonic()
        connections = [service.connect() for _ in range(20)]
        for connection in connections:
            assert service.ask("/v1/tag", {"text": "a"}, connection=connection).status == 200
        workers = children(service.process.pid)
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        eventually(lambda: len(set(children(service.process.pid)) - set(workers)) == 1)
        for connection in connections:
            connection.close()
        told = service.ask("/metrics").body.decode()
        assert 'labelgrove_texts_total{model="bonsai"} 20.0' in told
        codes = [service.ask("/v1/models").status for _ in range(150)]
        assert {*codes} == {200, 429}
        assert codes.count(200) <= 60 - 20 + time.monotonic() - began + 1
    assert all(gone(each) for each in workers)


def test_workers_end_with_the_process_that_started_them(taggers):
    with serving(taggers / "bonsai", "--no-feedback", "--workers", "2") as service:
        workers = children(service.process.pid)
        os.kill(service.process.pid, signal.SIGKILL)
        service.process.wait()
        assert all(gone(each) for each in workers)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_service_ends_with_its_terminal(taggers, workers):
    process, terminal = pty.fork()
    if process == 0:
        words = ["serve", str(taggers / "bonsai"), "--no-feedback", "--workers", workers]
        os.execv(sys.executable, [sys.executable, "-m", "labelgrove", *words, "--port", "0"])
    said = b""
    while not (b"serving at" in said and said.endswith(b"\n")):
        said += os.read(terminal, 1000)
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_service_that_cannot_begin_says_why(taggers, tmp_path):
    assert "no such folder" in fails("serve", tmp_path / "none")
    (tmp_path / "empty").mkdir()
    assert "manifest.json" in fails("serve", tmp_path / "empty")
    same = fails("serve", taggers / "bonsai", taggers / "bonsai")
    assert "two taggers would be called 'bonsai'" in same
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = fails("serve", taggers / "bonsai", "--port", port, "--no-feedback")
    assert f"127.0.0.1:{port}" in said
    assert "--port" in said
    assert "exclude each other" in fails(
        "serve", taggers / "bonsai", "--feedback", tmp_path, "--no-feedback"
    )
    missing = tmp_path / "nowhere"
    assert str(missing) in fails("serve", taggers / "bonsai", "--feedback", missing)
    assert "--host" in fails("serve", taggers / "bonsai", "--host", "no.such.host.invalid")


def test_a_damaged_tagger_is_told_with_workers_too(own):
    file = next(own.rglob("*.npy"))
    file.write_bytes(file.read_bytes()[:-1])
    assert "cut short" in fails("serve", own, "--no-feedback", "--workers", "2", code=1)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_worker_that_cannot_load_a_tagger_ends_the_service(
    tmp_path, workers, stand_ins_installed
):
    made(tmp_path / "own", "centroid")  # a model that other processes do not know
    said = labelgrove(
        *("serve", tmp_path / "own", "--no-feedback", "--port", "0", "--workers", workers),
        check=2 if workers == "1" else 1,
    ).stderr
    assert "unknown model 'centroid'" in said
    assert "Traceback" not in said


def test_other_names_and_a_threshold_that_was_never_tuned(taggers, tmp_path):
    plain = Tagger("bonsai", validation=0).fit(["one two", "three four"], [["x"], ["y"]])
    plain.save(tmp_path / "plain")
    with serving(
        f"first={tmp_path / 'plain'}", taggers / "bonsai", "--feedback", tmp_path
    ) as service:
        assert service.ask("/healthz").json["models"] == ["first", "bonsai"]
        got = service.ask("/v1/tag", {"text": "a", "threshold": "auto"}).json
        assert "nothing was held out" in got["notes"][0]
        assert service.ask("/v1/tag", {"text": "a", "threshold": "per-label"}).status == 409
        assert service.ask("/v1/models").json["models"][0]["thresholds"] is None
        assert service.ask("/v1/feedback", {"text": "a", "labels": ["x"]}).status == 200
    assert (tmp_path / "first.feedback.jsonl").exists()


def test_more_texts_than_may_wait_are_sent_away(taggers):
    with (
        serving(
            taggers / "bonsai", *("--no-feedback", "--batch-wait", "300", "--max-waiting", "10")
        ) as service,
        ThreadPoolExecutor(20) as pool,
    ):
        answers = [
            each.result()
            for each in [
                pool.submit(service.ask, "/v1/tag", {"text": f"text {i}"}) for i in range(20)
            ]
        ]
        assert {each.status for each in answers} == {200, 429}
        refused = next(each for each in answers if each.status == 429)
        assert refused.headers["retry-after"] == "1"
        assert "too many texts are waiting" in refused.detail
        assert service.ask("/v1/tag", {"texts": ["many"] * 50}).status == 200
