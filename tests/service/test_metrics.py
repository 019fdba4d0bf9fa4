"""What is counted, by one process or by several."""

import pytest
from prometheus_client.values import MultiProcessValue

from labelgrove.service.metrics import FOLDER, Metrics, forget


def test_buckets_of_the_metrics():
    """Dashboards depend on them: from a millisecond to a minute, from one text to 256."""
    metrics = Metrics()
    metrics.seconds.labels("/").observe(0.003)
    metrics.batches.labels("a").observe(3)
    text = metrics.text().decode()

    def bounds(name):
        lines = [line for line in text.splitlines() if line.startswith(f"{name}_bucket")]
        return [line.split('le="')[1].split('"')[0] for line in lines]

    times = "0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1.0 2.5 5.0 10.0 30.0 60.0 +Inf"
    assert bounds("labelgrove_request_seconds") == times.split()
    sizes = "1.0 2.0 4.0 8.0 16.0 32.0 64.0 128.0 256.0 +Inf"
    assert bounds("labelgrove_batch_texts") == sizes.split()
    assert "_created" not in text


@pytest.fixture
def workers(tmp_path, monkeypatch):
    """Two processes that have counted texts, and what waits: returns what is told of them."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    for process in (7, 8):
        value = MultiProcessValue(lambda process=process: process)
        named = (("model",), ("a",), "help")
        value("counter", "labelgrove_texts", "labelgrove_texts_total", *named).inc(process)
        waiting = "labelgrove_waiting_texts"
        value("gauge", waiting, waiting, *named, multiprocess_mode="livesum").set(process)

    def told():
        lines = Metrics().text().decode().splitlines()
        return {float(line.split()[-1]) for line in lines if not line.startswith("#")}

    return told


def test_workers_count_together_and_one_that_has_ended_waits_for_nothing(workers):
    assert workers() == {15.0}
    forget(7)
    assert workers() == {15.0, 8.0}


def test_alone_a_process_tells_its_own_counts(monkeypatch):
    monkeypatch.delenv(FOLDER, raising=False)
    metrics = Metrics()
    metrics.texts.labels("a").inc(3)
    assert 'labelgrove_texts_total{model="a"} 3.0' in metrics.text().decode()
