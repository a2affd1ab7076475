"""Elements selected by their rank or by a mask, searches in sorted rows, permutations."""

import numpy as np

from tests.benchmarks.case import Table, normal

TABLE = Table("selection")
SHAPE = (1000, 1000)


def sorted_rows(rng: np.random.Generator) -> list[np.ndarray]:
    """Sorted rows, and values to be searched for."""
    return [np.sort(rng.standard_normal(SHAPE).astype(np.float32)), rng.standard_normal(SHAPE).astype(np.float32)]


TABLE.both(f"kthvalue 10 of {SHAPE}", normal(SHAPE), lambda m, x: m.kthvalue(x, 10, dim=1)[0])
TABLE.both(f"kthvalue 500 of {SHAPE}", normal(SHAPE), lambda m, x: m.kthvalue(x, 500, dim=1)[0])
TABLE.both(f"median of {SHAPE}", normal(SHAPE), lambda m, x: m.median(x, dim=1)[0])
TABLE.add("median of 1e6", normal((1_000_000,)), lambda m, x: m.median(x))
TABLE.add(f"searchsorted of {SHAPE}", sorted_rows, lambda m, x, y: m.searchsorted(x, y))
TABLE.both(f"cummax of {SHAPE}", normal(SHAPE), lambda m, x: m.cummax(x, 1)[0])
TABLE.add(f"nonzero of {SHAPE}", normal(SHAPE), lambda m, x: m.nonzero(x > 0.5))
TABLE.both("masked_select of 1e6", normal((1_000_000,)), lambda m, x: m.masked_select(x, x > 0.5))
for count in (1_000, 100_000, 1_000_000):
    # The libraries draw different numbers, so no element is compared.
    TABLE.add(f"randperm {count:,}", lambda rng: [], lambda m, count=count: m.randperm(count)[:0])
