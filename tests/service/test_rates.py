"""How often a client may ask."""

import pytest

from labelgrove.service import rates as module
from labelgrove.service.rates import SLOTS, Rates


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def test_a_client_may_ask_as_often_as_its_bucket_fills():
    clock = Clock()
    rates = Rates(60, clock=clock)
    assert [rates.wait("a") for _ in range(61)] == [0.0] * 60 + [1.0]
    clock.now += 0.5
    assert rates.wait("a") == pytest.approx(0.5)
    clock.now += 0.5
    assert rates.wait("a") == 0.0
    clock.now += 3600
    assert [rates.wait("a") > 0 for _ in range(61)] == [False] * 60 + [True]


def test_a_costly_request_is_paid_off_before_the_next():
    clock = Clock()
    rates = Rates(60, clock=clock)
    assert rates.wait("a") == 0.0
    rates.spend("a", 100)
    assert rates.wait("a") == pytest.approx(42.0)
    assert rates.wait("b") == 0.0
    clock.now += 42
    assert rates.wait("a") == 0.0


def test_processes_share_buckets(tmp_path):
    clock = Clock()
    one, other = Rates(2, tmp_path, clock=clock), Rates(2, tmp_path, clock=clock)
    assert (one.wait("a"), other.wait("a")) == (0.0, 0.0)
    assert one.wait("a") > 0
    assert other.wait("a") > 0


def test_many_clients_do_not_starve_one_another():
    clock = Clock()
    rates = Rates(5, clock=clock)
    refused = 0
    for client in range(3 * SLOTS):
        clock.now += 0.01
        refused += rates.wait(f"client {client}") > 0
    assert refused == 0


def test_buckets_of_16384_clients_have_room(tmp_path):
    Rates(5, tmp_path)
    assert (tmp_path / "rates").stat().st_size == 16_384 * 24


def test_where_buckets_are_short_the_one_used_longest_ago_is_taken(monkeypatch):
    """Eight clients have room in the same place; the ninth takes that of the first."""
    monkeypatch.setattr(module, "SLOTS", 9)
    clock = Clock()
    rates = Rates(1, clock=clock)
    for client in range(9):
        clock.now += 0.001
        assert rates.wait(f"client {client}") == 0.0
    clock.now += 0.001
    assert all(rates.wait(f"client {client}") > 0 for client in range(1, 9))
    assert rates.wait("client 0") == 0.0, "it was forgotten"
