"""Several workers, reloading, stopping: no request is dropped."""

import contextlib
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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

        def known():
            """Labels that the workers know, whichever answers."""
            return {service.ask("/v1/models").json["models"][0]["labels"] for _ in range(20)}

        eventually(lambda: known() == {2})  # the others load when one has
        eventually(lambda: service.ask("/v1/reload", method="POST").json == {"reloaded": []})


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
        said = "a worker was ended by SIGKILL; another takes its place now\n"
        assert any(line.endswith(said) for line in service.told)
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
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may have been started by nohup
        words = ["serve", str(taggers / "bonsai"), "--no-feedback", "--workers", workers]
        os.execv(sys.executable, [sys.executable, "-m", "labelgrove", *words, "--port", "0"])
    said = b""
    while not (b"serving at" in said and said.endswith(b"\n")):
        said += os.read(terminal, 1000)
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_service_that_cannot_begin_says_why(taggers, tmp_path):
    any_port = ("--port", "0")  # that of the default may be taken
    assert "no such folder" in fails("serve", tmp_path / "none", *any_port)
    (tmp_path / "empty").mkdir()
    assert "manifest.json" in fails("serve", tmp_path / "empty", *any_port)
    same = fails("serve", taggers / "bonsai", taggers / "bonsai", *any_port)
    assert "two taggers would be called 'bonsai'" in same
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = fails("serve", taggers / "bonsai", "--port", port, "--no-feedback")
    assert f"127.0.0.1:{port}" in said
    assert "--port" in said
    assert "exclude each other" in fails(
        "serve", taggers / "bonsai", *any_port, "--feedback", tmp_path, "--no-feedback"
    )
    missing = tmp_path / "nowhere"
    assert str(missing) in fails("serve", taggers / "bonsai", *any_port, "--feedback", missing)
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


def test_requests_that_come_together_are_tagged_together(taggers):
    with (
        serving(taggers / "bonsai", "--no-feedback", "--batch-wait", "500", "--quiet") as service,
        ThreadPoolExecutor(8) as pool,
    ):
        asked = [pool.submit(service.ask, "/v1/tag", {"text": f"red {i}"}) for i in range(8)]
        assert {each.result().status for each in asked} == {200}
        told = service.ask("/metrics").body.decode()
    assert 'labelgrove_batch_texts_sum{model="bonsai"} 8.0' in told
    batches = re.search(r'batch_texts_count\{model="bonsai"\} (\S+)', told)
    assert float(batches[1]) < 8


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="looks at processes in /proc")
def test_workers_share_the_arrays_of_a_tagger(taggers):
    with serving(taggers / "bonsai", "--no-feedback", "--workers", "2") as service:
        mapped = [
            set(re.findall(r"\S+\.npy", Path(f"/proc/{each}/maps").read_text()))
            for each in children(service.process.pid)
        ]
    assert len(mapped) == 2
    assert mapped[0] == mapped[1]
    assert any("/model/" in name for name in mapped[0])


def test_an_answer_comes_from_one_tagger_though_it_is_loaded_anew(own):
    """Many texts are tagged in parts; those behind a reload are tagged by the old tagger too."""
    with serving(own, "--no-feedback", "--batch-size", "1", "--quiet") as service:
        texts = [f"red apples in green cars {i}" for i in range(1000)]
        with ThreadPoolExecutor(1) as pool:
            answers = []
            asked = pool.submit(
                lambda: answers.extend(
                    service.ask("/v1/tag", {"texts": texts, "k": 9}) for _ in range(5)
                )
            )
            small = [f"{word} {i}" for i in range(10) for word in ("a red apple", "a pear")]
            made(own, texts=small, labels=[["fruit"], ["pear"]] * 10, overwrite=True)
            assert service.ask("/v1/reload", method="POST").json == {"reloaded": ["own"]}
            asked.result()
    sizes = [{len(each["labels"]) for each in answer.json["results"]} for answer in answers]
    assert all(len(each) == 1 for each in sizes)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_signal_to_load_anew_waits_until_it_has_loaded(own, workers):
    words = [sys.executable, "-m", "labelgrove", "serve", str(own), "--no-feedback", "--port", "0"]
    with subprocess.Popen(
        [*words, "--workers", workers], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        ended = threading.Event()

        def hang_up():
            while not ended.wait(0.05):
                process.send_signal(signal.SIGHUP)

        listening(process.pid)
        sender = threading.Thread(target=hang_up)
        sender.start()
        try:
            assert "serving at" in process.stdout.readline()
        finally:
            ended.set()
            sender.join()
            process.terminate()
        assert process.wait(PATIENCE) == 0


def listening(process):
    """Wait until a service has a socket, before which it is only a Python that begins."""

    def has_socket():
        for each in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
                if "socket:" in str(each.readlink()):
                    return True
        return False

    eventually(has_socket)


def test_with_one_tagger_gone_all_workers_load_the_other(own, tmp_path):
    made(tmp_path / "other")
    with serving(own, tmp_path / "other", "--no-feedback", "--workers", "2") as service:
        small = [f"{word} {i}" for i in range(10) for word in ("a red apple", "a pear")]
        made(own, texts=small, labels=[["fruit"], ["pear"]] * 10, overwrite=True)
        shutil.rmtree(tmp_path / "other")
        assert service.ask("/v1/reload", method="POST").status == 409
        eventually(
            lambda: (
                {service.ask("/v1/models").json["models"][0]["labels"] for _ in range(20)} == {2}
            )
        )
