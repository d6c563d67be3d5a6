"""CPU time, the best of several runs: the machines are noisy."""

import time
from collections.abc import Callable

__all__ = ["cpu"]

LONG = 2
"""CPU seconds of a job that is not repeated: what disturbs it is a small part."""


def cpu(job: Callable[[], object], best_of: int = 3) -> float:
    """The CPU seconds of a job in this process."""
    found = []
    for _ in range(best_of):
        begun = time.process_time()
        job()
        found.append(time.process_time() - begun)
        if found[-1] > LONG:
            break
    return min(found)
