"""How the time that something takes grows with what it is given: in proportion, or with its square."""

import time
from collections.abc import Callable

# The time for four times as much: 4 where it is linear, 16 where it is quadratic. The allowance is for noise.
MOST = 9.0
ATTEMPTS = 4


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of this process, the fastest of three."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def check_growth(seconds_of: Callable[[int], float], size: int, most: float = MOST) -> None:
    """Assert that four times the size takes less than `most` times as long.

    What others do on the machine slows one measurement down, what is quadratic all: so the best of some is judged.
    """
    measured = []
    for _ in range(ATTEMPTS):
        once, twice, four_times = (seconds_of(times * size) for times in (1, 2, 4))
        measured.append((once, twice, four_times))
        if four_times < most * once:
            return
    raise AssertionError(f"grows faster than its size, {size}: {measured}")
