"""Sorting, and the largest few elements."""

import numpy as np

from tests.benchmarks.case import Table, normal

TABLE = Table("sorting")

for size, shape in (("1e6", (1_000_000,)), ("(4096, 1024)", (4096, 1024))):
    TABLE.add(f"sort {size}", normal(shape), lambda m, x: m.sort(x)[0], numpy=np.sort, goal=0.7)
    TABLE.add(f"sort {size}, backward", normal(shape), lambda m, x: m.sort(x)[0], tracks=1)
    TABLE.add(f"topk 10 of {size}", normal(shape), lambda m, x: m.topk(x, 10)[0], goal=0.7)
    TABLE.add(f"topk 10 of {size}, backward", normal(shape), lambda m, x: m.topk(x, 10)[0], tracks=1)
