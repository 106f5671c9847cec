"""Calls side by side, on a pool that all requests of a worker share."""

import pytest

from console.store.calls import parallel


def test_answers_come_in_order_and_one_alone_needs_no_thread():
    assert parallel(lambda: 1, lambda: 2, lambda: 3) == [1, 2, 3]
    assert parallel(lambda: parallel(lambda: 1), lambda: 2) == [[1], 2]


def test_work_of_the_pool_must_not_wait_for_the_pool():
    with pytest.raises(RuntimeError):
        parallel(lambda: parallel(lambda: 1, lambda: 2), lambda: 3)
