"""What the app answers, whoever asks it: access, limits, quotas, labels, feedback."""

import asyncio
import json
import os
import re
import signal
import time
from datetime import UTC, datetime

import pytest

from asgi import answered, in_process
from labelgrove import Tagger
from labelgrove.core.errors import InputError
from labelgrove.service import app as service_app
from labelgrove.service.settings import Limits
from services import LABELS, TEXTS, made
from virtual_time import run

KEY = "a-key-of-more-than-sixteen-letters"
BEARER = {"Authorization": f"Bearer {KEY}"}
FAR = "192.0.2.7"


@pytest.fixture(scope="module")
def service(taggers, tmp_path_factory):
    place = tmp_path_factory.mktemp("feedback")
    with in_process(taggers / "bonsai", taggers / "knn", feedback=place) as found:
        found.feedback = place
        yield found


@pytest.fixture
def quick(tmp_path):
    """The folder of a small tagger that a test may change."""
    made(tmp_path / "quick", "most-frequent")
    return tmp_path / "quick"


@pytest.fixture
def signals():
    """The signals that this process is sent, instead of what they do."""
    received = []
    names = (signal.SIGHUP, signal.SIGTERM)
    kept = {name: signal.signal(name, lambda number, _: received.append(number)) for name in names}
    yield received
    for name, handler in kept.items():
        signal.signal(name, handler)


# --- who may reload -------------------------------------------------------------------------------


@pytest.mark.parametrize("client", ["127.0.0.1", "127.0.0.9", "::1"])
def test_without_keys_this_machine_may_reload(service, client):
    got = service.ask("/v1/reload", method="POST", client=client)
    assert (got.status, got.json) == (200, {"reloaded": []})


@pytest.mark.parametrize("client", [FAR, "2001:db8::1", None])
def test_without_keys_other_machines_may_not_reload(service, client):
    got = service.ask("/v1/reload", method="POST", client=client)
    assert got.status == 403
    assert "only this machine may reload" in got.detail


@pytest.mark.parametrize("header", ["Forwarded", "X-Forwarded-For", "Via"])
def test_without_keys_who_comes_through_a_proxy_may_not_reload(service, header):
    got = service.ask("/v1/reload", method="POST", headers={header: "127.0.0.1"})
    assert got.status == 403


def test_with_a_key_any_machine_may_reload(quick):
    with in_process(quick, keys=(KEY,)) as service:
        for client in (FAR, "127.0.0.1"):
            assert service.ask("/v1/reload", method="POST", client=client).status == 401
            got = service.ask("/v1/reload", method="POST", client=client, headers=BEARER)
            assert (got.status, got.json) == (200, {"reloaded": []})


def test_a_reload_reaches_the_other_workers_also_if_it_fails(quick, signals):
    with in_process(quick, supervisor=os.getpid()) as service:
        assert service.ask("/v1/reload", method="POST").status == 200
        assert signals == [signal.SIGHUP]
        (quick / "manifest.json").unlink()
        assert service.ask("/v1/reload", method="POST").status == 409
        assert signals == [signal.SIGHUP] * 2
    with in_process(made_again(quick)) as service:
        assert service.ask("/v1/reload", method="POST").status == 200
    assert signals == [signal.SIGHUP] * 2, "alone there is nobody to tell"


def made_again(folder):
    made(folder.with_name("again"), "most-frequent")
    return folder.with_name("again")


# --- what a request costs -------------------------------------------------------------------------


def costs(folder, path, body, rate=30):
    """Return for how many requests one counts: asks until the minute's are used up."""
    with in_process(folder, limits=Limits(rate=rate)) as service:
        assert service.ask(path, body).status in (200, 403)
        left = 0
        while service.ask("/v1/models").status == 200:
            left += 1
        return rate - left


@pytest.mark.parametrize(
    ("texts", "cost"),
    [
        (["red"], 1),
        (["red"] * 10, 1),
        (["red"] * 11, 2),
        (["red"] * 20, 2),
        (["red"] * 21, 3),
        (["r" * 21_999], 1),
        (["r" * 22_000], 2),
    ],
)
def test_a_request_counts_once_for_each_ten_texts(taggers, texts, cost):
    assert costs(taggers / "bonsai", "/v1/tag", {"texts": texts}) == cost


@pytest.mark.parametrize(("length", "cost"), [(100, 1), (3_999, 1), (4_000, 2), (10_000, 5)])
def test_an_explanation_costs_as_much_as_ten_texts(taggers, length, cost):
    asked = {"text": ("red apples " * 1_000)[:length], "label": "fruit"}
    assert costs(taggers / "bonsai", "/v1/explain", asked) == cost


@pytest.mark.parametrize(("length", "cost"), [(20_000, 1), (22_000, 2)])
def test_long_feedback_counts_for_several(quick, length, cost):
    assert costs(quick, "/v1/feedback", {"text": "r" * length, "labels": ["fruit"]}) == cost


# --- time -----------------------------------------------------------------------------------------


def test_an_answer_that_takes_too_long_is_given_up(quick, tmp_path):
    limits = Limits(seconds=0.05)
    with in_process(quick, feedback=tmp_path, limits=limits, wait=5.0) as service:
        got = service.ask("/v1/tag", {"text": "red"})
        assert got.status == 408
        assert "no answer after 0.05 s" in got.detail
        assert "--timeout" in got.detail


def test_a_body_that_comes_too_slowly_is_given_up(quick):
    with in_process(quick, limits=Limits(seconds=0.05)) as service:
        got = service.ask("/v1/tag", [b'{"text": ', None])
    assert got.status == 408
    assert "the body was not here after 0.05 s, only 9 bytes of it" in got.detail
    assert got.headers["connection"] == "close"


# --- labels ---------------------------------------------------------------------------------------


def test_labels_tell_whether_there_are_more(service):
    def found(query):
        got = service.ask(f"/v1/labels?{query}").json
        return [each["label"] for each in got["labels"]], got["more"]

    assert found("parent=thing&limit=2") == (["fruit", "vehicle"], False)
    assert found("parent=thing&limit=1") == (["fruit"], True)
    assert found("parent=thing&limit=1&offset=1") == (["vehicle"], False)
    assert found("parent=Fruit of trees".replace(" ", "%20")) == (["cake"], False)
    assert found("limit=1") == (["colour"], True)
    assert found("limit=1&offset=1") == (["thing"], False)
    assert found("q=colo&limit=2") == (["colour", "shade"], False)
    assert found("id=Cake%20%3Cb%3E%26%20more") == (["cake"], False)
    assert service.ask("/v1/labels?id=fruit&model=knn").json["model"] == "knn"


@pytest.mark.parametrize("query", ["q=a&parent=b", "q=a&id=b", "parent=a&id=b"])
def test_labels_are_asked_for_in_one_way(service, query):
    got = service.ask(f"/v1/labels?{query}")
    assert got.status == 409
    assert "exclude each other" in got.detail


def test_a_page_of_labels_has_fifty_unless_asked(tmp_path):
    names = [f"label {i:03}" for i in range(60)]
    tagger = Tagger("most-frequent").fit(TEXTS[:60], [[name] for name in names])
    tagger.save(tmp_path / "many")
    with in_process(tmp_path / "many") as service:
        got = service.ask("/v1/labels?q=label").json
        assert (len(got["labels"]), got["more"]) == (50, True)
        assert len(service.ask("/v1/labels?q=label&limit=60").json["labels"]) == 60


# --- feedback -------------------------------------------------------------------------------------


def test_feedback_has_the_time_and_no_id_unless_one_is_given(service):
    file = service.feedback / "knn.feedback.jsonl"
    before = datetime.now(UTC).replace(microsecond=0)
    asked = {"text": "pie", "labels": ["cake"], "model": "knn"}
    assert service.ask("/v1/feedback", asked).status == 200
    kept = json.loads(file.read_text("utf-8").splitlines()[-1])
    assert before <= datetime.fromisoformat(kept.pop("time")) <= datetime.now(UTC)
    assert kept == {"text": "pie", "labels": ["cake"], "rejected": [], "model": "knn"}


def test_a_rejected_label_may_be_new_but_teaches_none(service):
    asked = {"text": "pie", "labels": ["cake"], "rejected": ["a pie"]}
    got = service.ask("/v1/feedback", asked)
    assert got.status == 404
    assert "'allow_new' takes it as a new one" in got.detail
    got = service.ask("/v1/feedback", {**asked, "allow_new": True}).json
    assert (got["labels"], got["new"]) == (["cake"], [])
    file = service.feedback / "bonsai.feedback.jsonl"
    assert json.loads(file.read_text().splitlines()[-1])["rejected"] == ["a pie"]


def test_several_new_labels_keep_their_order(service):
    asked = {"text": "pie", "labels": ["zwieback", "cake", "a  pie"], "allow_new": True}
    got = service.ask("/v1/feedback", asked).json
    assert got["labels"] == ["zwieback", "cake", "a pie"]
    assert got["new"] == ["zwieback", "a pie"]


def test_a_label_both_right_and_wrong_is_told(service):
    asked = {"text": "pie", "labels": ["fruit", "cake"], "rejected": ["Cake <b>& more"]}
    got = service.ask("/v1/feedback", asked)
    assert got.status == 409
    assert got.detail == "'cake' is both among labels and rejected; decide for one"


def test_written_feedback_is_counted(service):
    name = 'labelgrove_feedback_total{model="bonsai"}'
    before = service.count(name)
    service.ask("/v1/feedback", {"text": "pie", "labels": ["cake"]})
    service.ask("/v1/feedback", {"text": "pie", "labels": ["unknown"]})
    assert service.count(name) == before + 1


# --- the page and what runs beside ----------------------------------------------------------------


def test_files_of_the_page_have_types_and_are_asked_for_again(service):
    for path, kind in (
        ("/", "text/html; charset=utf-8"),
        ("/static/main.js", "text/javascript; charset=utf-8"),
    ):
        got = service.ask(path)
        assert (got.status, got.headers["content-type"]) == (200, kind)
        assert got.headers["cache-control"] == "no-cache"
        assert len(got.body) > 100
    got = service.ask("/static/" + "n" * 300)
    assert got.status == 404
    assert got.detail == f"there is no {'n' * 100!r} here"


def test_scripts_from_elsewhere_are_not_offered(service):
    assert service.ask("/redoc").status == 404
    loaded = re.findall(rb'(?:src|href)="([^"]+)"', service.ask("/docs").body)
    assert loaded
    assert all(each.startswith((b"static/", b"data:", b".", b"openapi")) for each in loaded)


def test_metrics_are_plain_text(service):
    got = service.ask("/metrics")
    assert got.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_the_first_word_of_health(service):
    assert service.ask("/healthz").json == {"status": "ok", "models": ["bonsai", "knn"]}


def test_nothing_runs_on_when_the_app_has_ended(quick):
    async def run(service):
        messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
        running = []

        async def receive():
            running.append(len(asyncio.all_tasks()))
            return messages.pop(0)

        async def send(message):
            assert message["type"].endswith(".complete"), message

        await service.app({"type": "lifespan"}, receive, send)
        await asyncio.sleep(0)
        return running, len(asyncio.all_tasks())

    with in_process(quick, supervisor=os.getppid()) as service:
        running, left = service.runner.run(run(service))
    assert running == [1, 2], "the supervisor is watched"
    assert left == 1


def test_a_folder_that_is_replaced_during_its_trial_is_checked_again(quick, monkeypatch):
    """Without a snapshot: what is served is what lies there after the trial."""

    async def replaced_meanwhile(name, folder, snapshot, settings):
        assert snapshot == str(quick)
        file = max(quick.rglob("*.npy"), key=lambda each: each.stat().st_size)
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)

    monkeypatch.setattr("labelgrove.service.taggers.try_out", replaced_meanwhile)
    with in_process(quick) as service:
        made(quick, "most-frequent", TEXTS[:3], LABELS[:3], overwrite=True)
        got = service.ask("/v1/reload", method="POST")
        assert got.status == 409
        assert "checksum" in got.json["errors"][0]["message"]
        assert service.ask("/v1/models").json["models"][0]["documents"] == 100


async def living(app, meanwhile):
    """Run an app's lifespan, and something while it lives; return how many tasks are left."""
    started, done = asyncio.Event(), asyncio.Event()
    messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

    async def receive():
        if len(messages) == 1:
            await done.wait()
        return messages.pop(0)

    async def send(message):
        assert message["type"].endswith(".complete"), message
        started.set()

    life = asyncio.ensure_future(app({"type": "lifespan"}, receive, send))
    await started.wait()
    await meanwhile()
    done.set()
    await life
    await asyncio.sleep(0)
    return len(asyncio.all_tasks())


def test_a_signal_loads_what_was_saved_anew(quick, caplog, signals):
    """SIGHUP while the app runs; a terminal that was closed ends it instead."""

    async def renewed():
        made(quick, "most-frequent", TEXTS[:3], LABELS[:3], overwrite=True)
        os.kill(os.getpid(), signal.SIGHUP)
        ends = time.monotonic() + 60
        while service.taggers.queue("").served.manifest["documents"] != 3:
            assert time.monotonic() < ends
            await asyncio.sleep(0.01)

    with in_process(quick) as service:
        service.runner.run(living(service.app, renewed))
        got = service.runner.run(answered(service.app, "/v1/models"))
    assert got.json["models"][0]["documents"] == 3


def test_a_worker_ends_with_its_supervisor(signals, monkeypatch):
    async def watched(process):
        task = asyncio.ensure_future(service_app._end_with(process))
        await asyncio.wait([task], timeout=0.2)
        return task.cancel()

    monkeypatch.setattr(service_app, "WATCH", 0.01)
    assert asyncio.run(watched(os.getppid())), "it still watches"
    assert signals == []
    asyncio.run(watched(os.getpid()))  # it has another parent, as if its own had ended
    assert signals == [signal.SIGTERM]


def test_a_second_tagger_that_fails_does_not_hide_the_first(quick, caplog):
    other = quick.with_name("other")
    made(other, "most-frequent")
    with in_process(quick, other) as service, caplog.at_level("INFO", "labelgrove.service"):
        made(other, "most-frequent", TEXTS[:3], LABELS[:3], overwrite=True)
        (quick / "manifest.json").unlink()
        got = service.ask("/v1/reload", method="POST")
        assert got.status == 409
        assert "quick: not loaded, the old one goes on" in got.detail
        assert [each["where"] for each in got.json["errors"]] == ["quick"]
        assert service.count('labelgrove_reloads_total{outcome="failed"}') == 1
        assert service.count('labelgrove_reloads_total{outcome="done"}') == 1
        documents = [card["documents"] for card in service.ask("/v1/models").json["models"]]
        assert documents == [100, 3]
    told = caplog.text
    assert re.search(r"quick goes on as it was: .*manifest\.json", told)
    assert "other was loaded anew" in told
    assert "nothing was saved anew" not in told


def test_a_reload_of_nothing_new_is_told(quick, caplog):
    with in_process(quick) as service, caplog.at_level("INFO", "labelgrove.service"):
        assert service.ask("/v1/reload", method="POST").json == {"reloaded": []}
    assert "nothing was saved anew, so nothing was loaded" in caplog.text


def test_a_feedback_file_that_cannot_be_written_stops_the_start(quick, tmp_path):
    with (
        pytest.raises(InputError, match="--no-feedback"),
        in_process(quick, feedback=tmp_path / "nowhere"),
    ):
        pass


def test_the_supervisor_is_looked_at_each_second(monkeypatch):
    parents, ended = [7, 7, 7, 1], []
    monkeypatch.setattr(service_app.os, "getppid", lambda: parents.pop(0))
    monkeypatch.setattr(service_app.os, "kill", lambda *given: ended.append(given))

    async def watched():
        loop = asyncio.get_running_loop()
        began = loop.time()
        await service_app._end_with(7)
        return loop.time() - began

    assert run(watched()) == pytest.approx(3.0)
    assert ended == [(os.getpid(), signal.SIGTERM)]


def test_a_reload_that_runs_when_the_app_ends_is_given_up(quick, signals, monkeypatch):
    began = []

    async def reload():
        began.append(True)
        await asyncio.sleep(3600)

    async def meanwhile():
        os.kill(os.getpid(), signal.SIGHUP)
        while not began:
            await asyncio.sleep(0.001)

    with in_process(quick) as service:
        monkeypatch.setattr(service.taggers, "reload", reload)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
        try:
            left = service.runner.run(asyncio.wait_for(living(service.app, meanwhile), 30))
            assert left == 2, "the test, and what waits for it"
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGHUP])
        with pytest.raises(RuntimeError, match="shutdown"):
            service.taggers.queue("")._batcher._thread.submit(int)
    assert signals == [], "they were for the app"


def test_an_app_whose_terminal_was_closed_ends(quick, signals, monkeypatch):
    async def meanwhile():
        os.kill(os.getpid(), signal.SIGHUP)
        while not signals:
            await asyncio.sleep(0.001)

    monkeypatch.setattr("labelgrove.service.signals._is_there", lambda: False)
    with in_process(quick, terminal=True) as service:
        monkeypatch.setattr(service.taggers, "reload", None)
        service.runner.run(asyncio.wait_for(living(service.app, meanwhile), 30))
    assert signals == [signal.SIGTERM]


def test_feedback_is_answered_with_what_was_written(service):
    asked = {"text": "pie", "labels": ["Cake <b>& more"], "id": "d1"}
    got = service.ask("/v1/feedback", asked).json
    assert got == {"model": "bonsai", "labels": ["cake"], "new": [], "stored": True}
    file = service.feedback / "bonsai.feedback.jsonl"
    assert json.loads(file.read_text("utf-8").splitlines()[-1])["id"] == "d1"


def test_a_label_of_nothing_but_separators_is_refused(service):
    got = service.ask("/v1/feedback", {"text": "a", "labels": ["\x1c"], "allow_new": True})
    assert got.status == 422
    assert got.detail == r"'\x1c' is no label: it is empty"


@pytest.mark.parametrize(
    ("change", "status"),
    [
        *(({"k": 5.0}, 200), ({"k": 5.5}, 422), ({"k": "5"}, 422), ({"k": True}, 422)),
        *(({"threshold": "auto"}, 200), ({"threshold": "other"}, 422), ({"texts": ["a"]}, 422)),
        *(({"texts": []}, 422), ({"threshold": 0.5}, 200)),
    ],
)
def test_values_have_their_own_types(service, change, status):
    assert service.ask("/v1/tag", {"text": "a", **change}).status == status
