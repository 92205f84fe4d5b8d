"""The pool of threads."""

from __future__ import annotations

import os
import threading
import time

import pytest
import threadpoolctl

from ssiode.threads import map_in_threads, one_blas_thread, thread_count
from tests.checks import refuses


def test_number_of_threads_is_that_of_the_variable(monkeypatch):
    monkeypatch.setenv("SSIODE_THREADS", "3")
    assert thread_count() == 3
    monkeypatch.delenv("SSIODE_THREADS")
    assert 1 <= thread_count() <= os.cpu_count()


@pytest.mark.parametrize("value", ["0", "-1", "two", "", "1.5", " ", "²", "٣", "1025", "9" * 5000])
def test_bad_numbers_of_threads_are_refused(monkeypatch, value):
    monkeypatch.setenv("SSIODE_THREADS", value)
    refuses(thread_count, "SSIODE_THREADS", "from 1 to 1024")


@pytest.mark.parametrize("threads", ["1", "4"])
def test_results_are_in_the_order_of_the_items(monkeypatch, threads):
    monkeypatch.setenv("SSIODE_THREADS", threads)

    def late(item):
        time.sleep(0.02 if item == 0 else 0.0)
        return item * item

    assert map_in_threads(late, range(10)) == [i * i for i in range(10)]
    assert map_in_threads(late, []) == []


@pytest.mark.parametrize("threads", ["1", "4"])
def test_errors_reach_the_caller(monkeypatch, threads):
    monkeypatch.setenv("SSIODE_THREADS", threads)

    def fail(item):
        if item == 2:
            raise KeyError(item)
        return item

    with pytest.raises(KeyError):
        map_in_threads(fail, range(4))


def test_several_threads_work_at_once(monkeypatch):
    monkeypatch.setenv("SSIODE_THREADS", "3")
    # All three wait for each other, so one thread alone would break the barrier.
    barrier = threading.Barrier(3, timeout=10)
    assert sorted(map_in_threads(lambda _: barrier.wait(), range(3))) == [0, 1, 2]


def test_one_thread_is_the_caller(monkeypatch):
    monkeypatch.setenv("SSIODE_THREADS", "1")
    names = map_in_threads(lambda _: threading.current_thread().name, range(2))
    assert set(names) == {threading.current_thread().name}


def test_blas_keeps_to_one_thread_within_the_block():
    def counts():
        pools = threadpoolctl.threadpool_info()
        return [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = counts()
        with one_blas_thread():
            assert set(counts()) == {1}
        assert counts() == before
    assert 2 in before
